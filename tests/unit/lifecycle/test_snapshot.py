"""What is copied of a job's checkpoints is of one moment, though the job goes on. The nodes are folders here."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.jobs import a_node
from trainrig.errors import CommandFailed
from trainrig.lifecycle import snapshot
from trainrig.model.node import Node
from trainrig.model.process import Outcome
from trainrig.tools.ssh import Ssh

# Reads `last` late: the job has written one more checkpoint since the rest was read.
CP = """#!/bin/sh
/bin/cp "$@" || exit
for to; do :; done
[ -s {job} ] && sh {job} && : >{job} && rm -f "$to/last" && /bin/cp -a "$2/last" "$to/last"
exit 0
"""
ANOTHER = "cd {node}/checkpoints && mkdir step-2 && echo two >step-2/model && ln -sfn step-2 last && rm -r step-1"


@dataclass(kw_only=True)
class Nodes:
    root: Path
    before: dict[int, list[Callable[[], object]]] = field(default_factory=dict)  # rank -> before each of its commands

    def folder(self, rank: int) -> Path:
        return self.root / f"node-{rank}"

    def save(self, rank: int, step: int) -> None:
        source = self.folder(rank) / "checkpoints"
        (source / f"step-{step}").mkdir(parents=True)
        (source / f"step-{step}" / "model").write_text(f"{step}")
        (source / "last").unlink(missing_ok=True)
        (source / "last").symlink_to(f"step-{step}")

    def ssh(self, count: int) -> Ssh:
        return Ssh(rig=self.root, nodes=tuple(a_node(rank) for rank in range(count)))

    def run(self, node: Node, words: Sequence[str]) -> Outcome:
        for act in [acts.pop(0) for acts in [self.before.get(node.rank, [])] if acts]:
            act()
        here = [w.replace("/srv/trainrig", str(self.folder(node.rank))) for w in words]
        env = {**os.environ, "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run(here, capture_output=True, text=True, env=env, check=False)
        return Outcome(returncode=done.returncode, stdout=done.stdout, stderr=done.stderr, seconds=0)


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nodes:
    made = Nodes(root=tmp_path)
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(Ssh, "run", lambda _ssh, node, words, check: made.run(node, words))
    return made


def taken(nodes: Nodes, rank: int) -> dict[str, str]:
    folder = nodes.folder(rank) / "checkpoints.snapshot"
    links = {p.name: str(p.readlink()) for p in folder.iterdir() if p.is_symlink()}
    return links | {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("model")}


def test_a_link_is_never_of_a_later_moment_than_what_it_points_at(nodes: Nodes, tmp_path: Path) -> None:
    nodes.save(0, 1)
    job = tmp_path / "job.sh"
    job.write_text(ANOTHER.format(node=nodes.folder(0)))
    (tmp_path / "bin" / "cp").write_text(CP.format(job=job))
    (tmp_path / "bin" / "cp").chmod(0o755)
    snapshot.take(nodes.ssh(1))
    assert taken(nodes, 0) == {"last": "step-2", "step-2/model": "two\n"}


def test_what_is_written_in_place_is_of_no_later_moment_either(nodes: Nodes) -> None:
    nodes.save(0, 1)
    held = nodes.folder(0) / "checkpoints"
    pointer, large = held / "latest.txt", held / "large.bin"
    pointer.write_text("step-1")
    os.utime(pointer, ns=(5, 1_700_000_000_123_456_789))
    large.write_bytes(bytes(100_000))
    ssh = nodes.ssh(1)
    stamps = snapshot.take(ssh)
    nodes.save(0, 2)  # beside what was taken
    pointer.write_text("step-2")
    snapshot.require_unchanged(ssh, ssh.nodes[0], stamps[0])
    copied = nodes.folder(0) / "checkpoints.snapshot" / "latest.txt"
    assert (copied.read_text(), copied.stat().st_mtime_ns) == ("step-1", 1_700_000_000_123_456_789)
    large.write_bytes(bytes(100_000))  # too large to be copied, and the link is to what is there now
    with pytest.raises(CommandFailed, match="wrote into a file"):
        snapshot.require_unchanged(ssh, ssh.nodes[0], stamps[0])


def test_a_large_file_that_is_written_while_it_is_sent_is_copied_the_next_time(nodes: Nodes) -> None:
    held = nodes.folder(0) / "checkpoints"
    nodes.save(0, 1)
    log, model = held / "train.log", held / "model.bin"
    log.write_bytes(bytes(100_000))
    model.write_bytes(bytes(100_000))
    ssh = nodes.ssh(1)

    def grow() -> None:
        with log.open("ab") as file:
            file.write(b"one more line")

    first = snapshot.take(ssh)
    grow()
    with pytest.raises(CommandFailed, match="wrote into a file"):
        snapshot.require_unchanged(ssh, ssh.nodes[0], first[0])
    for _ in range(2):
        stamps = snapshot.take(ssh)
        size = log.stat().st_size
        grow()
        snapshot.require_unchanged(ssh, ssh.nodes[0], stamps[0])
        snap = nodes.folder(0) / "checkpoints.snapshot"
        assert (snap / "train.log").stat().st_size == size
        assert (snap / "model.bin").stat().st_ino == model.stat().st_ino


def test_files_that_are_all_large_and_none_at_all_are_taken_too(nodes: Nodes) -> None:
    held = nodes.folder(0) / "checkpoints"
    held.mkdir(parents=True)
    snapshot.take(nodes.ssh(1))
    (held / "large.bin").write_bytes(bytes(100_000))
    snapshot.take(nodes.ssh(1))
    taken_at = nodes.folder(0) / "checkpoints.snapshot" / "large.bin"
    assert taken_at.stat().st_ino == (held / "large.bin").stat().st_ino


def test_the_shards_of_all_nodes_are_of_one_step(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in (0, 1):
        nodes.save(rank, 1)
    # After rank 0 was taken and before rank 1 is: both have saved.
    nodes.before[1] = [lambda: (nodes.save(0, 2), nodes.save(1, 2))]  # type: ignore[func-returns-value]
    monkeypatch.setattr(Ssh, "each", lambda ssh, work: [work(node) for node in ssh.nodes])  # rank 0 first
    snapshot.take(nodes.ssh(2))
    assert taken(nodes, 0)["last"] == taken(nodes, 1)["last"] == "step-2"


def test_a_job_that_never_leaves_its_files_alone_is_said_to(nodes: Nodes, tmp_path: Path) -> None:
    nodes.save(0, 1)
    (tmp_path / "bin" / "cp").write_text(f'#!/bin/sh\n/bin/cp "$@"; echo $$ >>{nodes.folder(0)}/checkpoints/$$\n')
    (tmp_path / "bin" / "cp").chmod(0o755)
    with pytest.raises(CommandFailed, match=r"^tr-hello-0: the job replaces its files faster than they are linked$"):
        snapshot.take(nodes.ssh(1))


def test_one_node_that_saves_all_the_time_has_a_moment_of_its_own(nodes: Nodes) -> None:
    nodes.save(0, 1)
    nodes.save(1, 1)
    steps = iter(range(2, 100))
    nodes.before[0] = [lambda: nodes.save(0, next(steps)) for _ in range(50)]
    snapshot.take(nodes.ssh(2))
    # Where both do, there is no moment of both.
    nodes.before[1] = [lambda: nodes.save(1, next(steps)) for _ in range(50)]
    with pytest.raises(CommandFailed, match="faster"):
        snapshot.take(nodes.ssh(2))


def test_one_that_goes_on_after_its_caller_is_waited_for(nodes: Nodes, tmp_path: Path) -> None:
    nodes.save(0, 1)
    lock, over = nodes.folder(0) / "checkpoints.snapshot.lock", tmp_path / "over"
    orphan = f"exec 9>{lock}; flock 9; echo held; sleep 0.5; touch {over}"
    with subprocess.Popen(["sh", "-c", orphan], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        assert other.stdout.readline() == "held\n"
        snapshot.take(nodes.ssh(1))
        assert over.exists()
    assert taken(nodes, 0) == {"last": "step-1", "step-1/model": "1"}
