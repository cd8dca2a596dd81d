from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from support.jobs import a_job, a_launch, a_node
from trainrig.lifecycle import gang_keys
from trainrig.lifecycle.job_control import JobEnd, NodeEnd, _bundle, _end, _text, start
from trainrig.model.job import Mount, MountMode
from trainrig.model.node import Node
from trainrig.model.process import Outcome
from trainrig.tools.ssh import Ssh


def test_secrets_travel_in_a_file_that_only_root_reads() -> None:
    launch = a_launch(job=a_job(secrets={"TOKEN": "s3cret"}))
    with tarfile.open(fileobj=io.BytesIO(_bundle(launch, a_node(), {}))) as tar:
        holding = [m for m in tar if m.isfile() and b"s3cret" in (tar.extractfile(m) or io.BytesIO()).read()]
        assert [(m.name, m.mode) for m in holding] == [("job.env", 0o600)]
        assert tar.getmember("scripts/job.sh").mode == 0o755


def test_only_rank_0_of_a_gang_has_a_key_and_every_launch_another() -> None:
    launch = a_launch(2, job=a_job(launch="mpi", nodes=2))
    first, second = gang_keys.of(launch), gang_keys.of(launch)
    assert [sorted(first[rank]) for rank in (0, 1)] == [
        ["address", "id_ed25519", "known_hosts"],
        ["authorized_keys", "host_key", "sshd_config"],
    ]
    assert first[0]["id_ed25519"] != second[0]["id_ed25519"]
    with tarfile.open(fileobj=io.BytesIO(_bundle(launch, a_node(), first[0]))) as tar:
        modes = {m.name: m.mode for m in tar}
    assert modes["mpi/id_ed25519"] == 0o600
    assert modes["gang/ranks"] == 0o777
    assert gang_keys.of(a_launch(2)) == gang_keys.of(a_launch(1, job=a_job(launch="mpi"))) == {}


def test_a_job_starts_once_its_buckets_are_mounted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def run(_ssh: Ssh, _node: Node, words: list[str], **_options: object) -> Outcome:
        asked.append(words)
        return Outcome(returncode=0, stdout="", stderr="", seconds=0)

    monkeypatch.setattr(Ssh, "run", run)
    folder = Mount(target="/a", source=None, name="a", mode=MountMode.MOUNT)
    mounts = (Mount(target="/c", source="s3://c"), folder, Mount(target="/b", source="s3://b", mode=MountMode.MOUNT))
    start(Ssh(rig=tmp_path, nodes=(a_node(),)), a_launch(job=a_job(mounts=mounts)), lambda _event: None)
    ((*_, line),) = asked
    assert line.startswith("/usr/local/lib/trainrig/data up 2 && systemctl stop trainrig-job.service && ")


@pytest.mark.parametrize(
    ("message", "text"),
    [("step 1", "step 1"), (list(b"10%\r20%\r30%"), "30%"), (list(b"\x1b[1mbold"), "\x1b[1mbold"), (None, "")],
)
def test_a_journal_message_is_text_or_bytes(message: object, text: str) -> None:
    assert _text(message) == text


@pytest.mark.parametrize("active", ["active", "activating", "deactivating"])
def test_a_job_that_runs_or_stops_has_not_ended(active: str) -> None:
    assert _end(0, {"active": active}) is None


def test_a_unit_that_is_gone_without_a_record_has_an_unknown_end() -> None:
    assert _end(1, {"active": "inactive"}) == NodeEnd(rank=1, exit_code=None)


@pytest.mark.parametrize(("codes", "code"), [([0, 0], 0), ([0, 3], 3), ([None], None), ([None, 5], 5)])
def test_the_exit_code_of_a_job_is_the_first_that_is_not_zero(codes: list[int | None], code: int | None) -> None:
    nodes = tuple(NodeEnd(rank=i, exit_code=c) for i, c in enumerate(codes))
    assert JobEnd(verdict="failed", nodes=nodes).exit_code == code
