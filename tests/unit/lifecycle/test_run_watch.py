"""A move that was decided before the process was killed: what the next process makes of the job that it finds."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from support import rigs
from support.jobs import a_job
from trainrig.lifecycle import job_control, run_watch
from trainrig.lifecycle.job_control import JobEnd, NodeEnd
from trainrig.lifecycle.last_save import Saved
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.environment import Environment
from trainrig.model.events import silent
from trainrig.model.placement import CatalogStamp, Placement
from trainrig.store.journal import AttemptState
from trainrig.tools.ssh import Ssh


class NoSync:
    committed = 1
    saves: tuple[object, ...] = ()

    def __init__(self, *_: object, **__: object) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def commit_now(self) -> bool:
        return False


@pytest.mark.parametrize(
    ("code", "verdict", "kind", "to"),
    [(143, "failed", "moving", 1), (0, "succeeded", "done", None)],
    ids=["stopped for the move", "done before it heard of it"],
)
def test_a_job_that_was_to_move(
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    verdict: Literal["failed", "succeeded"],
    kind: str,
    to: int | None,
) -> None:
    there = rigs.candidate(zone="us-east-1b")
    stamp = CatalogStamp(digest="d", captured_at=None, age_hours=None, offers=2)
    run = RunContext(
        identity=rigs.identity(),
        job=a_job(),
        environment=Environment(name="test", clouds=()),
        placement=Placement(job="hello", catalog=stamp, chosen=rigs.candidate(), fallbacks=(there,), rejections=()),
        observe=silent,
    )
    asked: list[dict[str, Any]] = []

    def saved(_ssh: Ssh, _sync: object, **how: Any) -> Saved:
        asked.append(how)
        return Saved(something=True, seconds=1)

    end = JobEnd(verdict=verdict, nodes=(NodeEnd(rank=0, exit_code=code),))
    monkeypatch.setattr(run_watch, "CheckpointSync", NoSync)
    monkeypatch.setattr(run_watch, "save_and_stop", saved)
    monkeypatch.setattr(job_control, "follow", lambda *_, **__: end)
    run.rig.create()
    with run.opened() as context:
        context.journal.intend(run.identity, details={})
        attempt = context.journal.start_attempt(run.run_id, 1, rigs.candidate())
        context.journal.update_attempt(attempt, AttemptState.UP, nodes=[rigs.node(host_key="ssh-ed25519 AAAA")])
        context.journal.append(run.run_id, "moving", {"generation": 1, "to": 1, "reason": "half the price"})
    seen = run_watch.watch_job(run, 1)
    assert (seen["kind"], seen["to"]) == (kind, to)
    assert [how["noticed"] for how in asked] == [()]
    with run.opened() as context:
        happened = context.journal.happenings(run.run_id, ("moving", "job_ended"))
    assert [h.kind for h in happened] == ["moving", "job_ended"]
    assert happened[-1].data["kind"] == kind
