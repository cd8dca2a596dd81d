"""What was decided about a job before the process was killed: what the next process makes of the job that it finds."""

from __future__ import annotations

import contextlib
import os
import time
from datetime import timedelta
from typing import Any, Literal

import pytest

from support import rigs
from support.jobs import a_job
from support.no_sync import NoSync
from trainrig import settings
from trainrig.lifecycle import job_control, run_watch
from trainrig.lifecycle.job_control import JobEnd, NodeEnd
from trainrig.lifecycle.last_save import Saved
from trainrig.lifecycle.run_context import RunContext
from trainrig.lifecycle.watch import Kind, Watched
from trainrig.model.clock import utc_now
from trainrig.model.environment import Environment
from trainrig.model.events import silent
from trainrig.model.placement import CatalogStamp, Placement
from trainrig.model.rig import RigState
from trainrig.store.journal import AttemptState, Happening, Journal
from trainrig.tools.ssh import Ssh


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> RunContext:
    """A run whose rig is up, and whose copies are not made."""
    there = rigs.candidate(zone="us-east-1b")
    stamp = CatalogStamp(digest="d", captured_at=None, age_hours=None, offers=2)
    made = RunContext(
        identity=rigs.identity(),
        job=a_job(),
        environment=Environment(name="test", clouds=()),
        placement=Placement(job="hello", catalog=stamp, chosen=rigs.candidate(), fallbacks=(there,), rejections=()),
        observe=silent,
    )
    monkeypatch.setattr(NoSync, "committed", 1)
    monkeypatch.setattr(run_watch, "CheckpointSync", NoSync)
    made.rig.create()
    with made.opened() as context:
        context.journal.intend(made.identity, details={})
        attempt = context.journal.start_attempt(made.run_id, 1, rigs.candidate())
        context.journal.update_attempt(attempt, AttemptState.UP, nodes=[rigs.node(host_key="ssh-ed25519 AAAA")])
    return made


def ends(monkeypatch: pytest.MonkeyPatch, verdict: Literal["failed", "succeeded"], code: int) -> None:
    end = JobEnd(verdict=verdict, nodes=(NodeEnd(rank=0, exit_code=code),))
    monkeypatch.setattr(job_control, "follow", lambda *_, **__: end)


def happened(run: RunContext) -> list[Happening]:
    with run.opened() as context:
        return list(context.journal.happenings(run.run_id, ("moving", "stopping", "job_ended")))


@pytest.mark.parametrize(
    ("code", "verdict", "kind", "to"),
    [(143, "failed", "moving", 1), (0, "succeeded", "done", None)],
    ids=["stopped for the move", "done before it heard of it"],
)
def test_a_job_that_was_to_move(
    monkeypatch: pytest.MonkeyPatch,
    run: RunContext,
    code: int,
    verdict: Literal["failed", "succeeded"],
    kind: str,
    to: int | None,
) -> None:
    asked: list[dict[str, Any]] = []

    def saved(_ssh: Ssh, _sync: object, **how: Any) -> Saved:
        asked.append(how)
        return Saved(something=True, seconds=1)

    monkeypatch.setattr(run_watch, "save_and_stop", saved)
    ends(monkeypatch, verdict, code)
    with run.opened() as context:
        context.journal.append(run.run_id, "moving", {"generation": 1, "to": 1, "reason": "half the price"})
    seen = run_watch.watch_job(run, 1)
    assert (seen["kind"], seen["to"]) == (kind, to)
    assert [how["noticed"] for how in asked] == [()]
    assert [h.kind for h in happened(run)] == ["moving", "job_ended"]
    assert happened(run)[-1].data["kind"] == kind


def test_a_job_that_a_limit_has_stopped_did_not_fail(monkeypatch: pytest.MonkeyPatch, run: RunContext) -> None:
    stopped: list[Ssh] = []
    limit = Watched(kind="policy", limit="silence", reason="it said nothing for 1h")

    def killed(ssh: Ssh, _observe: object) -> None:
        stopped.append(ssh)
        if len(stopped) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(run_watch, "watch", lambda *_, **__: limit)
    monkeypatch.setattr(job_control, "stop", killed)
    with pytest.raises(KeyboardInterrupt):
        run_watch.watch_job(run, 1)
    ends(monkeypatch, "failed", 143)
    monkeypatch.setattr(run_watch, "watch", lambda *_, **__: Watched(kind="failed", exit_code=143))
    seen = run_watch.watch_job(run, 1)
    assert (seen["kind"], seen["limit"], seen["reason"], seen["collect"]) == ("policy", limit.limit, limit.reason, True)
    assert [h.kind for h in happened(run)] == ["stopping", "job_ended"]
    assert len(stopped) == 2


def test_a_rig_that_a_guard_destroys_at_once_is_not_watched_anew(
    monkeypatch: pytest.MonkeyPatch, run: RunContext
) -> None:
    """The process is killed while it waits for the copy of a checkpoint that runs."""
    limit = Watched(kind="policy", limit="silence", reason="it said nothing for 1h", collect=False)

    def killed(_sync: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_watch, "watch", lambda *_, **__: limit)
    stop = NoSync.stop
    monkeypatch.setattr(NoSync, "stop", killed)
    with pytest.raises(KeyboardInterrupt):
        run_watch.watch_job(run, 1)
    monkeypatch.setattr(NoSync, "stop", stop)
    monkeypatch.setattr(run_watch, "watch", lambda *_, **__: Watched(kind="done", exit_code=0))
    seen = run_watch.watch_job(run, 1)
    assert (seen["kind"], seen["limit"], seen["collect"]) == ("policy", "silence", False)


def test_a_silence_is_counted_from_the_last_line_that_an_earlier_process_wrote_down(
    monkeypatch: pytest.MonkeyPatch, run: RunContext
) -> None:
    heard: list[float] = []

    def watched(*_: object, quiet_seconds: float, **__: object) -> Watched:
        heard.append(quiet_seconds)
        raise KeyboardInterrupt

    def minutes() -> int:
        with pytest.raises(KeyboardInterrupt):
            run_watch.watch_job(run, 1)
        return round(heard[-1] / 60)

    monkeypatch.setattr(run_watch, "watch", watched)
    with contextlib.closing(Journal(settings.home(), now=lambda: utc_now() - timedelta(hours=1))) as journal:
        journal.append(run.run_id, "job_started", {"generation": 1})
    assert minutes() == 60
    log = run.logs / "rank-0.log"
    log.parent.mkdir(parents=True)
    log.write_text("step 1\n")
    os.utime(log, (time.time() - 600,) * 2)
    assert minutes() == 10
    os.utime(log, (time.time() - 36000,) * 2)  # of an earlier generation
    assert minutes() == 60


def test_checkpoints_of_a_process_that_was_killed_are_progress(
    monkeypatch: pytest.MonkeyPatch, run: RunContext
) -> None:
    with run.opened() as context:
        for number in range(3):
            context.journal.append(run.run_id, "checkpoint", {"generation": 1, "id": f"000001-00000{number}"})
    monkeypatch.setattr(run_watch, "watch", lambda *_, **__: Watched(kind="lost"))
    run_watch.watch_job(run, 1)
    assert happened(run)[-1].data["checkpoints"] == 3


@pytest.mark.parametrize("kind", ["policy", "failed"])
def test_the_end_of_a_job_is_seen_once(monkeypatch: pytest.MonkeyPatch, run: RunContext, kind: Kind) -> None:
    """The process is killed before anybody else knows, and the rig goes meanwhile."""
    seen = Watched(kind=kind, limit="disk", reason="a node's disk is full", exit_code=3, collect=False)
    monkeypatch.setattr(run_watch, "watch", lambda *_, **__: seen)
    first = run_watch.watch_job(run, 1)
    with run.opened() as context:
        context.journal.set_state(run.run_id, RigState.DESTROYED, clean=True)
    assert run_watch.watch_job(run, 1) == first
    assert [h.kind for h in happened(run)].count("job_ended") == 1


def test_a_job_that_a_person_has_stopped_did_not_fail(monkeypatch: pytest.MonkeyPatch, run: RunContext) -> None:
    with run.opened() as context:
        data = {"generation": 1, "kind": "cancelled", "limit": "", "reason": ""}
        context.journal.append(run.run_id, "stopping", data)
    monkeypatch.setattr(job_control, "stop", lambda *_: None)
    ends(monkeypatch, "failed", 143)
    assert run_watch.watch_job(run, 1)["kind"] == "cancelled"
