"""Steps of a run whose process was killed: what they find done is done, and what they find gone is gone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support import rigs
from support.jobs import a_job
from trainrig.errors import CommandFailed, Interrupted
from trainrig.lifecycle import apply, collect, run_facts, run_launch, run_next, run_rig, run_watch
from trainrig.lifecycle.apply import Order
from trainrig.lifecycle.run_context import RunContext
from trainrig.lifecycle.status import status
from trainrig.model.environment import Environment
from trainrig.model.events import silent
from trainrig.model.job import Recovery
from trainrig.model.placement import CatalogStamp, Placement
from trainrig.model.rig import RigState
from trainrig.store.journal import AttemptState, Journal


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunContext:
    monkeypatch.setenv("TRAINRIG_HOME", str(tmp_path))
    stamp = CatalogStamp(digest="d", captured_at=None, age_hours=None, offers=1)
    return RunContext(
        identity=rigs.identity(expires_at=datetime(2100, 1, 1, tzinfo=UTC)),
        job=a_job(recovery=Recovery(max_recoveries=1)),
        environment=Environment(name="test", clouds=()),
        placement=Placement(job="hello", catalog=stamp, chosen=rigs.candidate(), fallbacks=(), rejections=()),
        observe=silent,
    )


@pytest.fixture
def journal(tmp_path: Path, run: RunContext) -> Iterator[Journal]:
    with contextlib.closing(Journal(tmp_path)) as journal:
        journal.intend(run.identity, details={})
        yield journal


@pytest.mark.parametrize("step", [run_launch.launch, run_watch.watch_job])
def test_a_run_whose_rig_was_destroyed_ends_as_stopped(
    run: RunContext, journal: Journal, step: Callable[[RunContext, int], dict[str, Any]]
) -> None:
    journal.set_state(run.run_id, RigState.DESTROYED, clean=True)
    seen = step(run, 1)
    assert seen["kind"] == "interrupted"
    assert run_next.next_step(run, 1, seen)["end"] == {"kind": "cancelled", "alive": False}


@pytest.mark.parametrize(
    ("generation", "gone", "do"),
    [(1, True, "replace"), (1, False, "end"), (1, None, "end"), (2, True, "end")],
    ids=["the node is gone", "it lives", "its cloud does not say", "a limit is reached"],
)
@pytest.mark.usefixtures("journal")
def test_outputs_that_went_with_their_node_are_made_again(
    run: RunContext, monkeypatch: pytest.MonkeyPatch, generation: int, gone: bool | None, do: str
) -> None:
    monkeypatch.setattr(run_facts, "gone", lambda *_: gone)
    end = {"kind": "done", "alive": True}
    action = run_next.next_step(run, generation, {"kind": "uncollected", "end": end})
    assert action["do"] == do
    assert action.get("end", end) == end
    run.stop.set()
    assert run_next.next_step(run, generation, {"kind": "uncollected", "end": end}) == {"do": "end", "end": end}


def test_no_rig_comes_up_and_no_job_is_started_after_a_limit_has_passed(
    run: RunContext, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody was at it for a while: a rig would be paid for that stops its job at once."""
    monkeypatch.setattr(apply, "apply", None)
    late = replace(run, job=a_job(timeout_seconds=1, deadline=datetime(2026, 1, 1, tzinfo=UTC)))
    wanted = ("policy", "deadline", False)
    seen = run_rig.bring_up(late, 1, None, None)
    assert (seen["kind"], seen["limit"], seen["collect"]) == wanted
    attempt = journal.start_attempt(run.run_id, 2, rigs.candidate())
    journal.update_attempt(attempt, AttemptState.UP, nodes=[rigs.node(host_key="ssh-ed25519 AAAA")])
    seen = run_launch.launch(late, 2)
    assert (seen["kind"], seen["limit"], seen["collect"]) == wanted
    assert run_next.next_step(late, 2, seen)["end"]["alive"] is False
    journal.set_state(run.run_id, RigState.DESTROYED, clean=True)
    assert run_rig.bring_up(late, 2, None, None)["kind"] == "interrupted"


def test_the_next_rig_has_the_lease_that_the_run_has_now(
    run: RunContext, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[datetime] = []

    def stop(_context: object, order: Order, **_: object) -> None:
        given.append(order.identity.expires_at)
        raise Interrupted("enough")

    monkeypatch.setattr(apply, "apply", stop)
    later = run.identity.expires_at + timedelta(hours=2)
    journal.update_details(run.run_id, extend=int(later.timestamp()))  # nothing is up: there is no label to move
    assert run_rig.bring_up(run, 2, None, None)["kind"] == "interrupted"
    assert given == [later]
    assert "extend" not in journal.rig(run.run_id).details


def test_a_job_that_is_done_and_whose_rig_was_destroyed_is_not_collected(run: RunContext, journal: Journal) -> None:
    journal.set_state(run.run_id, RigState.DESTROYED, clean=True)
    assert run_rig.collect_results(run)["kind"] == "uncollected"


def test_a_job_that_was_started_is_not_started_again(run: RunContext, journal: Journal) -> None:
    attempt = journal.start_attempt(run.run_id, 1, rigs.candidate())
    journal.update_attempt(attempt, AttemptState.UP, nodes=[rigs.node(host_key="ssh-ed25519 AAAA")])
    journal.append(run.run_id, "job_started", {"generation": 1})
    assert run_launch.launch(run, 1) == {"kind": "launched"}  # without a word to the node, which is none
    assert journal.rig(run.run_id).state is RigState.RUNNING


@pytest.mark.parametrize("fetched", [True, False])
def test_what_was_fetched_is_written_down(
    run: RunContext, journal: Journal, monkeypatch: pytest.MonkeyPatch, fetched: bool
) -> None:
    def collected(*_: object) -> dict[str, Path]:
        if not fetched:
            raise CommandFailed("the node does not answer")
        return {}

    monkeypatch.setattr(collect, "collect_outputs", collected)
    run.rig.create()
    attempt = journal.start_attempt(run.run_id, 1, rigs.candidate())
    journal.update_attempt(attempt, AttemptState.UP, nodes=[rigs.node(host_key="ssh-ed25519 AAAA")])
    assert run_rig.collect_results(run)["kind"] == ("collected" if fetched else "uncollected")
    assert bool(journal.happenings(run.run_id, (run_facts.COLLECTED,))) is fetched


def test_a_run_whose_process_was_killed_before_it_began_says_how_it_goes_on(run: RunContext, journal: Journal) -> None:
    journal.update_details(run.run_id, verb="run")
    with run.opened() as context:
        (note,) = status(context, journal.rig(run.run_id)).notes
    assert note.endswith("before it began: trainrig resume finetune, or destroy finetune")
