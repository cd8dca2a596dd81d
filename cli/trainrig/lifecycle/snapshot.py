"""What the checkpoint directories of all nodes held at one moment, as hard links: a job that replaces its files goes on
while they are copied.

A directory is not read at once, and neither are two nodes. Without a second look a link is there and not what it points
at, since the job wrote that after the directory was read; or each rank has the shards of another step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePosixPath

from trainrig.errors import CommandFailed, StoreFailed
from trainrig.model.node import Node
from trainrig.render import launch as launches
from trainrig.tools.ssh import Ssh

SNAPSHOT = launches.NODE_DIR / "checkpoints.snapshot"
TRIES = 10
MOST_WRITTEN = 200
SOURCE = launches.NODE_DIR / "checkpoints"
# `names`: which files there are, not how far those are that grow. `stamps`: whether one was written in place. `small`:
# the same of those that are copied rather than linked: pointers and logs, which many jobs write in place; larger ones,
# up to 64 MiB, once one was seen to be written while it was sent, since a log that grows would spoil every copy.
_LOOKS = (
    f'written={SNAPSHOT}.written; hot=$(tail -n {MOST_WRITTEN} "$written" 2>/dev/null | sed "s/^/-o -inum /"); '
    'those="-type f ( -size -129 -o -size -131073 ( -false $hot ) )"; '  # blocks of 512 bytes
    'names() { (cd "$1" && find . -type l -printf "%P %l\\n" -o -type f -printf "%i %P\\n" | sort | cksum); }; '
    'each() { (cd "$1" && find . -type f -printf "%i %T@ %s\\n" | sort); }; '
    'stamps() { each "$1" | cksum; }; '
    'small() { (cd "$1" && find . $those -printf "%i %T@ %s %P\\n" | sort | cksum); }; '
    'copy() { (cd "$1" && find . $those -print0 | tar --format=posix --null --no-recursion -T - -cf -) | '
    'tar -xf - -C "$2" --unlink-first; }; '
)
# Links are of the moment when they are made: what is linked and still there by the same names was there in between.
# One that goes on though its caller was killed is waited for.
_TAKE = (
    f'exec 9>"$2.lock" && flock 9 || exit; {_LOOKS}for try in $(seq {TRIES}); do '
    'rm -rf "$2"; cp -al "$1" "$2" || continue; is=$(names "$2"); few=$(small "$2"); '
    'copy "$1" "$2"; now=$(small "$1"); '  # at once: a log is written at any moment
    'each "$2" >"$2.stamps"; was=$(cksum <"$2.stamps"); '
    '[ "$few" = "$now" ] && [ "$is" = "$(names "$1")" ] && echo "$is" && echo "$was" && exit; '
    'done; echo "the job replaces its files faster than they are linked" >&2; exit 1'
)
# Notes the files that were written since.
_SENT = f'{_LOOKS}each "$1" | comm -13 "$1.stamps" - | cut -d" " -f1 >>"$written"; stamps "$1"'


def take(ssh: Ssh) -> Mapping[int, str]:
    """Links the files of all nodes; rank -> what `require_unchanged` wants to know.

    Raises:
        CommandFailed: a node does not answer, or the job writes too fast for a moment of all nodes.
    """
    stale = {node.rank for node in ssh.nodes}
    names: dict[int, str] = {}
    stamps: dict[int, str] = {}
    for _ in range(TRIES):
        those = replace(ssh, nodes=tuple(n for n in ssh.nodes if n.rank in stale))
        for node, (name, stamp) in zip(those.nodes, those.each(lambda n: _taken(ssh, n)), strict=True):
            names[node.rank], stamps[node.rank] = name, stamp
        if len(ssh.nodes) == 1:
            return stamps
        now = ssh.each(lambda n: _look(ssh, n, "names", SOURCE))
        changed = {n.rank for n, name in zip(ssh.nodes, now, strict=True) if name != names[n.rank]}
        # One that was taken alone is of a moment at which the others already were, and still are, as they were taken.
        if not changed or (changed == stale and len(stale) == 1):
            return stamps
        stale = changed
    raise CommandFailed("the nodes write their checkpoints faster than a moment of all of them is found")


@contextmanager
def unchanged(ssh: Ssh, node: Node, stamps: str) -> Iterator[None]:
    """Around the copy, whose own failure may be that a file was written into.

    Raises:
        CommandFailed: one was.
    """
    try:
        yield
    except (CommandFailed, StoreFailed):
        require_unchanged(ssh, node, stamps)
        raise
    require_unchanged(ssh, node, stamps)


def require_unchanged(ssh: Ssh, node: Node, stamps: str) -> None:
    """After the copy: a file that was written in place meanwhile is of a later moment than the others.

    Raises:
        CommandFailed: one was.
    """
    if _ask(ssh, node, _SENT, SNAPSHOT).strip() != stamps:
        raise CommandFailed(f"{node.name}: the job wrote into a file while it was copied")


def _taken(ssh: Ssh, node: Node) -> tuple[str, str]:
    said = _ask(ssh, node, _TAKE, SOURCE, SNAPSHOT).splitlines()
    if len(said) != len(("names", "stamps")):
        raise CommandFailed(f"{node.name}: it does not say what its checkpoints are")
    return said[0], said[1]


def _look(ssh: Ssh, node: Node, what: str, path: PurePosixPath) -> str:
    return _ask(ssh, node, f'{_LOOKS}{what} "$1"', path).strip()


def _ask(ssh: Ssh, node: Node, script: str, *paths: PurePosixPath) -> str:
    outcome = ssh.run(node, ["sh", "-c", script, "sh", *map(str, paths)], check=False)
    if not outcome.ok:
        last = outcome.stderr.strip().splitlines()[-1:] or ["it does not answer"]
        raise CommandFailed(f"{node.name}: {last[0]}")
    return outcome.stdout
