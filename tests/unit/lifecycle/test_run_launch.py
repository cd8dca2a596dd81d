"""The step that starts the job, taken again after its process was killed with the job running."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support import rigs
from support.jobs import a_job
from trainrig.errors import CommandFailed, ConfigureFailed
from trainrig.lifecycle import collect, configure, deliver, host_keys, job_control, run_launch, verify
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.environment import Environment
from trainrig.model.events import silent
from trainrig.model.job import ResourceOption
from trainrig.model.placement import CatalogStamp, Placement
from trainrig.store.checkpoint_dir import CheckpointDir
from trainrig.store.journal import AttemptState
from trainrig.tools.ssh import Ssh

KEYS = {"AWS_ACCESS_KEY_ID": "value:team"}


def test_a_job_that_runs_already_is_ended_before_its_files_are_laid(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stamp = CatalogStamp(digest="d", captured_at=None, age_hours=None, offers=1)
    run = RunContext(
        identity=rigs.identity(expires_at=datetime(2100, 1, 1, tzinfo=UTC)),
        job=a_job(options=(ResourceOption(),), image="registry.example/team/train@sha256:" + "a" * 64, secrets=KEYS),
        environment=Environment(name="test", clouds=()),
        placement=Placement(job="hello", catalog=stamp, chosen=rigs.candidate(), fallbacks=(), rejections=()),
        observe=silent,
    )
    run.rig.create()
    with run.opened() as context:
        context.journal.intend(run.identity, details={})
        attempt = context.journal.start_attempt(run.run_id, 2, rigs.candidate())
        node = rigs.node(host_key="ssh-ed25519 AAAA")
        context.journal.update_attempt(attempt, AttemptState.UP, nodes=[node])
        ssh = Ssh(rig=run.rig.path, nodes=(node,))
        (tmp_path / "staging" / "rank-0").mkdir(parents=True)
        (tmp_path / "staging" / "rank-0" / "latest").write_text("step 20")
        assert run.checkpoints.commit(tmp_path / "staging", run_id=run.run_id, generation=1, now=context.now())
    done: list[str] = []

    def noted(name: str) -> Callable[..., None]:
        return lambda *_, **__: done.append(name)

    def keys(_ssh: Ssh, _nodes: object, secrets: dict[str, Any]) -> None:
        done.append(f"keys {secrets}")

    monkeypatch.setattr(configure, "lay_secrets", keys)
    monkeypatch.setattr(host_keys, "learn", lambda _context, attempt, **_: attempt)
    monkeypatch.setattr(configure, "configure", lambda *_, **__: ssh)
    monkeypatch.setattr(Ssh, "close", noted("close"))
    monkeypatch.setattr(Ssh, "run", lambda _ssh, _node, words, **_: done.append(" ".join(words)))
    monkeypatch.setattr(deliver, "deliver", noted("deliver"))
    monkeypatch.setattr(verify, "accept", lambda *_, **__: [])
    monkeypatch.setattr(verify, "require", lambda *_: None)
    monkeypatch.setattr(collect, "restore_checkpoints", noted("restore"))
    monkeypatch.setattr(CheckpointDir, "begin_with", lambda _store, identity: done.append(f"with {identity}"))
    monkeypatch.setattr(job_control, "start", noted("start"))
    assert run_launch.launch(run, 2) == {"kind": "launched"}
    begun = ["deliver", "restore", "with 000001-000001", "start"]
    # The end of the job takes the keys along that opened its stores.
    assert done == ["systemctl stop trainrig-job.service", "keys {'AWS_ACCESS_KEY_ID': 'team'}", *begun, "close"]


@pytest.mark.parametrize(("code", "mendable"), [(255, True), (1, False)])
def test_a_delivery_that_was_cut_off_may_be_made_on_other_nodes(code: int, mendable: bool) -> None:
    cause = CommandFailed(f"ssh exited with {code}", details={"returncode": code})
    error = ConfigureFailed("the image did not arrive")
    error.__cause__ = cause
    assert run_launch._mendable(error) is mendable
    assert run_launch._cut_off(cause) is mendable
