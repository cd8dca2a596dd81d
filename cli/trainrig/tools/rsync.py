"""rsync over the rig's SSH, and sha256 of what it moved."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shlex
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from trainrig.errors import CommandFailed, MissingTool
from trainrig.model.node import Node
from trainrig.model.process import Command
from trainrig.tools import proc
from trainrig.tools.ssh import Ssh, remote_line

# A node that bills waits for its copy: one that stands still for so long, or reads slower than this, is given up.
STALLED_SECONDS = 600
SLOWEST_BYTES_SECOND = 20_000_000
_RSH = Path(__file__).parents[1] / "data" / "rsh.sh"
_EXCLUDES = ("--from0", "--exclude-from=-")  # patterns from stdin: there may be more than a command line holds
_WILDCARD = re.compile(r"([*?[])")
# In base64, since a name is bytes, and what a node says is text.
_SUMS = 'cd "$1" && find . -type f -print0 | sort -z | xargs -0 -r sha256sum -z | base64 --wrap=0'
# What comes from a job is read here by whoever runs us: not a file that may not be read, not one that is more than a
# file, and nothing that would run as its owner.
_OF_A_JOB = ("--no-devices", "--no-specials", "--chmod=u+rwX,ug-s")


def push(
    ssh: Ssh,
    node: Node,
    source: Path,
    target: str,
    *,
    ignore: bool = False,
    delete: bool = True,
    kept_back: Iterable[Path] = (),
) -> None:
    """A directory's contents into the directory `target`, or a file onto the path `target`.

    Args:
        ignore: leave out what Git ignores, and .git.
        delete: what is not in `source` goes from `target`.
        kept_back: files and folders that stay here when they lie in `source`.
    """
    options = ["--chmod=a+rwX"]  # the image decides which user the job runs as
    if source.is_dir():
        options += ["--delete"] if delete else []
        left_out = _left_out(source, ignore, kept_back)
        _rsync(ssh, node, [*options, *_EXCLUDES, f"{source}/", _remote(node, f"{target}/")], stdin=left_out)
    else:
        _rsync(ssh, node, [*options, str(source), _remote(node, target)])


def copy(source: Path, folder: Path, *, ignore: bool = False, kept_back: Iterable[Path] = ()) -> None:
    """A directory's contents, or a file, into a folder of this machine; `ignore` and `kept_back` as for push.

    Raises:
        CommandFailed: it could not be read or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    argv = ["rsync", "--archive", *_EXCLUDES, f"{source}/" if source.is_dir() else str(source), f"{folder}/"]
    proc.run(Command(argv=argv, stdin=_left_out(source, ignore, kept_back)))


def _left_out(source: Path, ignore: bool, kept_back: Iterable[Path]) -> bytes:
    """Patterns for _EXCLUDES. A file alone has nothing to leave out."""
    root = source.resolve()
    inside = (path.resolve() for path in kept_back)
    names = [path.relative_to(root).as_posix() for path in inside if path != root and path.is_relative_to(root)]
    if ignore and root.is_dir():
        names += [".git", *_ignored_by_git(root)]
    return "".join("/" + _WILDCARD.sub(r"[\1]", name) + "\0" for name in names).encode()


def _ignored_by_git(root: Path) -> list[str]:
    """Relative paths, folders with a slash at their end. Git itself is asked, since rsync's reading of .gitignore has
    no `!`, and would keep from the nodes what the user took back in.

    Raises:
        MissingTool: there is a .gitignore, and no Git that reads it.
    """
    listing = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"]
    argv = ["git", "-c", "core.fsmonitor=false", *listing]
    here = dict.fromkeys(("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"))  # a hook that started us has its own
    try:
        found = proc.run(Command(argv=argv, cwd=root, env=here), check=False)
        names = found.stdout.split("\0")[:-1]
        # No repository, or somebody else's, or one that ignores the folder as a whole: then its own files count alone.
        if not found.ok or "./" in names:
            with tempfile.TemporaryDirectory(prefix="trainrig-git-") as empty:
                proc.run(Command(argv=["git", "init", "--quiet", empty]))
                env = {**here, "GIT_DIR": f"{empty}/.git", "GIT_WORK_TREE": str(root)}
                names = proc.run(Command(argv=argv, cwd=root, env=env)).stdout.split("\0")[:-1]
    except MissingTool:
        if next(root.rglob(".gitignore"), None) is None:
            return []
        raise
    return names


def pull(ssh: Ssh, node: Node, source: str, target: Path, *, mirror: bool = False) -> None:
    """The contents of a directory of the node into `target`, with links as links, or a file into it, of a link what it
    points at. With `mirror`, what the node does not have is deleted here too.

    Raises:
        CommandFailed: the transfer failed, or a checksum differs.
    """
    target.mkdir(parents=True, exist_ok=True)
    options = [*_OF_A_JOB, *(["--delete"] if mirror else [])]
    if not source.endswith("/"):
        options.append("--copy-links")
    _rsync(ssh, node, [*options, _remote(node, source), f"{target}/"])


def verify(ssh: Ssh, node: Node, source: str, target: Path) -> int:
    """Compares all files of a directory of the node with their copies; returns how many there are.

    Raises:
        CommandFailed: a copy is missing or differs, or the node's disk stands still.
    """
    sums = _remote_sums(ssh, node, source, patience_seconds(target))
    wrong = [name for name, digest in sums.items() if file_sum(target / name) != digest]
    if wrong:
        raise CommandFailed(
            f"{node.name}: {len(wrong)} of {len(sums)} files of {source} differ: {', '.join(wrong[:5])}"
        )
    return len(sums)


def patience_seconds(path: Path) -> float:
    """How long a node may take to read what this is a copy of."""
    files = path.rglob("*") if path.is_dir() else [path]
    return STALLED_SECONDS + sum(f.lstat().st_size for f in files) / SLOWEST_BYTES_SECOND


def _remote_sums(ssh: Ssh, node: Node, directory: str, patience: float) -> dict[str, str]:
    """Relative path -> sha256 of every file below a directory of the node."""
    out = ssh.run(node, ["sh", "-c", _SUMS, "sh", directory], timeout_seconds=patience).stdout
    pairs = (line.partition("  ") for line in os.fsdecode(base64.b64decode(out)).split("\0") if line)
    return {name.removeprefix("./"): digest for digest, _, name in pairs}


def file_sum(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def _rsync(ssh: Ssh, node: Node, words: Sequence[str], *, stdin: bytes | None = None) -> None:
    shell = shlex.join(["sh", str(_RSH), "-F", str(ssh.config), "-o", "BatchMode=yes"])
    program = remote_line(node, ["rsync"])
    # rsync hands its child a stdout that does not block, which ssh can do with, and not the `cat` of our shell.
    options = ["--archive", "--no-owner", "--no-group", "--blocking-io", f"--timeout={STALLED_SECONDS}"]
    argv = ["rsync", *options, f"--rsh={shell}", f"--rsync-path={program}", *words]
    proc.run(Command(argv=argv, stdin=stdin))


def _remote(node: Node, path: str) -> str:
    return f"{node.name}:{path}"
