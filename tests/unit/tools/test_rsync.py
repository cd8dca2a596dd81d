from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.jobs import a_node
from trainrig.errors import CommandFailed
from trainrig.lifecycle.deliver import kept_back
from trainrig.tools import rsync
from trainrig.tools.ssh import Ssh

pytestmark = pytest.mark.skipif(shutil.which("rsync") is None, reason="needs rsync")


def tree(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def lay(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(os.fsencode(name))


def test_keys_and_credentials_in_a_checkout_stay_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "checkout"
    lay(checkout, "train.py", "gha-creds-1.json", ".id-token", ".trainrig/rigs/a/id_ed25519", "sub/.id-token")
    monkeypatch.setenv("TRAINRIG_HOME", str(checkout / ".trainrig"))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(checkout / "gha-creds-1.json"))
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(checkout / ".id-token"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "elsewhere"))
    (tmp_path / "there").mkdir()
    rsync.copy(checkout, tmp_path / "there", ignore=True, kept_back=kept_back())
    assert tree(tmp_path / "there") == {"train.py", "sub/.id-token"}


def test_a_name_with_wildcards_means_itself(tmp_path: Path) -> None:
    lay(tmp_path / "from", "[a]*.json", "a1.json", "b")
    (tmp_path / "to").mkdir()
    rsync.copy(tmp_path / "from", tmp_path / "to", kept_back=[tmp_path / "from" / "[a]*.json"])
    assert tree(tmp_path / "to") == {"a1.json", "b"}


@pytest.mark.parametrize("repository", ["none", "here", "above", "above, which ignores the folder"])
def test_what_is_left_out_is_what_git_leaves_out(tmp_path: Path, repository: str) -> None:
    source = tmp_path / "top" / "from"
    lay(source, "a.log", "keep.log", "build/x", "sub/build/y", "sub/b.log", "sub/only[1].txt", "sub/s.py", "force.log")
    (source / ".gitignore").write_text("*.log\n!keep.log\n/build/\n")
    (source / "sub" / ".gitignore").write_text("only\\[1\\].txt\n")
    if repository != "none":
        at = source if repository == "here" else source.parent
        subprocess.run(["git", "init", "-q", str(at)], check=True)
    if repository == "here":
        subprocess.run(["git", "add", "-f", "force.log"], cwd=source, check=True)
    if repository.endswith("the folder"):
        (source.parent / ".gitignore").write_text("from/\n")
    (tmp_path / "to").mkdir()
    rsync.copy(source, tmp_path / "to", ignore=True)
    wanted = {".gitignore", "keep.log", "sub/.gitignore", "sub/build/y", "sub/s.py"}
    assert tree(tmp_path / "to") == wanted | ({"force.log"} if repository == "here" else set())


def test_what_git_ignores_is_left_out_when_asked(tmp_path: Path) -> None:
    lay(tmp_path / "from", "a", "b.log", ".git/config")
    (tmp_path / "from" / ".gitignore").write_text("*.log\n")
    for folder in ("some", "all"):
        (tmp_path / folder).mkdir()
        rsync.copy(tmp_path / "from", tmp_path / folder, ignore=folder == "some")
    assert tree(tmp_path / "some") == {"a", ".gitignore"}
    assert tree(tmp_path / "all") == {"a", "b.log", ".git/config", ".gitignore"}


SSH = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do case "$1" in -F | -o | -l) shift ;; esac; shift; done
shift
@DELAY@
exec sh -c "$*"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ssh]:
    """A node that is this machine, after a delay."""

    def made(delay: str = "") -> Ssh:
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / "ssh").write_text(SSH.replace("@DELAY@", delay))
        (tmp_path / "bin" / "ssh").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        return Ssh(rig=tmp_path / "rig", nodes=(a_node(ssh_user="root"),))

    return made


def test_files_with_odd_names_are_brought_and_compared(tmp_path: Path, here: Callable[..., Ssh]) -> None:
    names = ["two\nlines", "back\\slash", "u\u2028x", " blank ", "sub/é", os.fsdecode(b"latin-\xe9")]
    lay(tmp_path / "node", *names)
    (tmp_path / "node" / "last").symlink_to("back\\slash")
    ssh = here()
    rsync.pull(ssh, ssh.nodes[0], f"{tmp_path}/node/", tmp_path / "copy", mirror=True)
    assert tree(tmp_path / "copy") == {*names, "last"}
    assert (tmp_path / "copy" / "last").readlink() == Path("back\\slash")
    assert rsync.verify(ssh, ssh.nodes[0], f"{tmp_path}/node", tmp_path / "copy") == len(names)
    (tmp_path / "copy" / "two\nlines").write_text("else")
    with pytest.raises(CommandFailed, match="1 of 6 files"):
        rsync.verify(ssh, ssh.nodes[0], f"{tmp_path}/node", tmp_path / "copy")


def test_what_a_job_made_can_be_read_here_and_is_no_more_than_files(tmp_path: Path, here: Callable[..., Ssh]) -> None:
    lay(tmp_path / "node", "closed", "shut/a", "suid")
    os.mkfifo(tmp_path / "node" / "fifo")
    for name, mode in (("closed", 0), ("shut", 0o500), ("suid", 0o6711)):
        (tmp_path / "node" / name).chmod(mode)
    ssh = here()
    rsync.pull(ssh, ssh.nodes[0], f"{tmp_path}/node/", tmp_path / "copy", mirror=True)
    modes = {name: (tmp_path / "copy" / name).stat().st_mode & 0o7777 for name in ("closed", "shut", "suid")}
    assert modes == {"closed": 0o600, "shut": 0o700, "suid": 0o711}
    assert not (tmp_path / "copy" / "fifo").exists()
    assert rsync.verify(ssh, ssh.nodes[0], f"{tmp_path}/node", tmp_path / "copy") == 3


def test_a_file_that_comes_faster_than_it_is_written_down_is_brought(tmp_path: Path, here: Callable[..., Ssh]) -> None:
    (tmp_path / "node").mkdir()
    (tmp_path / "node" / "model.bin").write_bytes(os.urandom(1 << 16) * 1024)  # 64 MiB: more than any pipe holds
    ssh = here()
    rsync.pull(ssh, ssh.nodes[0], f"{tmp_path}/node/", tmp_path / "copy")
    assert rsync.verify(ssh, ssh.nodes[0], f"{tmp_path}/node", tmp_path / "copy") == 1


def test_a_link_that_is_asked_for_by_its_name_is_what_it_points_at(tmp_path: Path, here: Callable[..., Ssh]) -> None:
    lay(tmp_path / "node", "epoch-3")
    (tmp_path / "node" / "best").symlink_to("epoch-3")
    ssh = here()
    rsync.pull(ssh, ssh.nodes[0], f"{tmp_path}/node/best", tmp_path / "copy")
    assert not (tmp_path / "copy" / "best").is_symlink()
    assert (tmp_path / "copy" / "best").read_text() == "epoch-3"


def test_a_node_that_stands_still_is_given_up(
    tmp_path: Path, here: Callable[..., Ssh], monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(tmp_path / "node", "a")
    ssh = here("sleep 60")
    monkeypatch.setattr(rsync, "STALLED_SECONDS", 1)
    with pytest.raises(CommandFailed, match="did not finish within 1 s"):
        rsync.verify(ssh, ssh.nodes[0], f"{tmp_path}/node", tmp_path / "node")
    with pytest.raises(CommandFailed, match=r"[Tt]imeout"):
        rsync.pull(ssh, ssh.nodes[0], f"{tmp_path}/node/", tmp_path / "copy")
