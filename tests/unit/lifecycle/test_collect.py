from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.jobs import a_job, a_node
from trainrig.errors import CommandFailed
from trainrig.lifecycle import collect
from trainrig.model.events import Event, Progress
from trainrig.model.job import Mount, MountMode
from trainrig.model.node import Node
from trainrig.model.process import Outcome
from trainrig.tools.ssh import UNREACHABLE, Ssh


def test_an_output_that_no_node_has_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(collect, "_exists", lambda _ssh, node, path: path.endswith("/there") and node.rank == 1)
    monkeypatch.setattr(collect, "_fetch", lambda _ssh, _node, _path, local: local)
    said: list[Event] = []
    job = a_job(outputs={"model": "/outputs/model", "there": "/outputs/there"})
    ssh = Ssh(rig=tmp_path, nodes=(a_node(0), a_node(1)))
    assert set(collect.collect_outputs(ssh, job, tmp_path, said.append)) == {"there"}
    words = [e.message for e in said if isinstance(e, Progress) and e.node is None]
    assert words == ["no output model: the job has not written /outputs/model"]


def test_a_node_that_does_not_answer_is_not_one_without_outputs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    silent = Outcome(returncode=UNREACHABLE, stdout="", stderr="Connection reset by peer", seconds=0)
    monkeypatch.setattr(Ssh, "run", lambda *_args, **_options: silent)
    with pytest.raises(CommandFailed, match="Connection reset"):
        collect.collect_outputs(Ssh(rig=tmp_path, nodes=(a_node(),)), a_job(), tmp_path, lambda _event: None)


@pytest.mark.parametrize(
    ("mount", "waits"),
    [
        (Mount(target="/m", source="s3://b", mode=MountMode.MOUNT), True),
        (Mount(target="/m", source="s3://b", mode=MountMode.MOUNT_CACHED), True),
        (Mount(target="/m", source="s3://b", mode=MountMode.MOUNT, read_only=True), False),
        (Mount(target="/m", source="s3://b"), False),
        (Mount(target="/m", source=None, name="m", mode=MountMode.MOUNT), False),  # a folder of the node
    ],
)
def test_what_was_written_to_a_bucket_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mount: Mount, waits: bool
) -> None:
    asked: list[list[str]] = []

    def run(_ssh: Ssh, _node: Node, command: list[str], **_options: object) -> Outcome:
        asked.append(command)
        return Outcome(returncode=0, stdout="", stderr="", seconds=0)

    monkeypatch.setattr(Ssh, "run", run)
    collect.flush_mounts(Ssh(rig=tmp_path, nodes=(a_node(),)), a_job(mounts=(mount,)), lambda _event: None)
    assert any("flush" in command for command in asked) is waits


WRITTEN = a_job(mounts=(Mount(target="/m", source="s3://b", mode=MountMode.MOUNT),))


class Bucket:
    """Of which a node says from look to look how many files it lacks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *left: int) -> None:
        self.left, self.looks = left, 0
        monkeypatch.setattr(Ssh, "run", lambda _ssh, _node, _command, **_options: self.look())

    def look(self) -> Outcome:
        left = self.left[min(self.looks, len(self.left) - 1)]
        self.looks += 1
        return Outcome(returncode=int(left > 0), stdout="", stderr=f"{left} files", seconds=0)


def flushed(tmp_path: Path, stopped: Callable[[], bool] = lambda: False) -> list[str]:
    said: list[Event] = []
    collect.flush_mounts(Ssh(rig=tmp_path, nodes=(a_node(),)), WRITTEN, said.append, stopped)
    return [e.message for e in said if isinstance(e, Progress)]


def test_who_waits_for_a_bucket_hears_what_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Bucket(monkeypatch, 3, 3, 1, 0)
    assert flushed(tmp_path)[1:] == ["3 files", "1 files"]


def test_a_bucket_that_takes_nothing_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Bucket(monkeypatch, 2)
    monkeypatch.setattr(collect, "FLUSH_SECONDS", 0)
    with pytest.raises(CommandFailed, match="2 files"):
        flushed(tmp_path)


def test_a_cancel_ends_the_wait_for_a_bucket_unless_it_ended_the_job(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bucket = Bucket(monkeypatch, 2, 2, 2, 0)
    with pytest.raises(CommandFailed, match="2 files"):
        flushed(tmp_path, lambda: bucket.looks == 2)
    assert bucket.looks == 2
    flushed(tmp_path, lambda: True)
    assert bucket.looks == 4


def test_outputs_that_the_job_names_as_a_whole_come_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(collect, "_exists", lambda *_: True)
    monkeypatch.setattr(collect, "_fetch", lambda _ssh, _node, _path, local: local)
    ssh = Ssh(rig=tmp_path, nodes=(a_node(),))
    found = collect.collect_outputs(ssh, a_job(outputs={"all": "/outputs"}), tmp_path, lambda _event: None)
    assert set(found) == {"all"}
    found = collect.collect_outputs(ssh, a_job(outputs={"a": "/outputs/a"}), tmp_path, lambda _event: None)
    assert set(found) == {"a", "files"}


def test_an_output_that_is_a_link_of_the_container_is_fetched_through_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = tmp_path / "node" / "outputs"
    made.mkdir(parents=True)
    (made / "step-3").write_text("three")
    for name, target in (("best", "/checkpoints/step-3"), ("last", "step-3"), ("same", "best")):
        (made / name).symlink_to(target)
    asked: list[list[str]] = []

    def run(_ssh: Ssh, _node: Node, command: list[str], **_options: object) -> Outcome:
        asked.append(command)
        here = [word.replace("/srv/trainrig", str(tmp_path / "node")) for word in command]
        there = 0 if "docker cp" in str(command) else subprocess.run(here, check=False).returncode
        return Outcome(returncode=there, stdout="", stderr="", seconds=0)

    monkeypatch.setattr(Ssh, "run", run)
    monkeypatch.setattr(collect, "_exists", lambda *_: True)
    monkeypatch.setattr(collect, "_fetch", lambda _ssh, _node, path, _local: Path(path))
    job = a_job(outputs={n: f"/outputs/{n}" for n in ("best", "last", "same", "step-3")} | {"own": "/tmp/own"})
    found = collect.collect_outputs(Ssh(rig=tmp_path, nodes=(a_node(),)), job, tmp_path, lambda _event: None)
    assert {name: path.parent.name for name, path in found.items() if name != "files"} == {
        "best": "copied",
        "last": "outputs",
        "same": "copied",
        "step-3": "outputs",
        "own": "copied",
    }
    assert [words[-2] for words in asked if "docker cp" in str(words)] == ["/outputs/best", "/outputs/same", "/tmp/own"]
