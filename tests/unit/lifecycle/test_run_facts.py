from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from support import rigs
from trainrig.errors import RigUnknown
from trainrig.lifecycle import run_facts
from trainrig.lifecycle.context import Context, opened
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.events import silent
from trainrig.model.job import Job, Recovery, ResourceOption
from trainrig.model.offer import Market
from trainrig.model.placement import CatalogStamp, Placement
from trainrig.recovery.facts import Observation
from trainrig.store import ledger
from trainrig.store.journal import AttemptState

ENVIRONMENT = Environment(name="test", clouds=(CloudPolicy(cloud="aws"),), budget_run_usd=Decimal(100))
FIRST = rigs.candidate(zone="us-east-1a")
SECOND = rigs.candidate(zone="us-east-1b")
ON_DEMAND = rigs.candidate(zone="us-east-1a", market=Market.ON_DEMAND)
PLACEMENT = Placement(
    job="finetune",
    catalog=CatalogStamp(digest="d", captured_at=None, age_hours=None, offers=3),
    chosen=FIRST,
    fallbacks=(SECOND, ON_DEMAND),
    rejections=(),
)
JOB = Job(name="finetune", options=(ResourceOption(),), recovery=Recovery(max_recoveries=7, on_exit_codes=(3,)))


@pytest.fixture
def run() -> RunContext:
    return RunContext(identity=rigs.identity(), job=JOB, environment=ENVIRONMENT, placement=PLACEMENT, observe=silent)


@pytest.fixture
def context(run: RunContext) -> Iterator[Context]:
    with opened(ENVIRONMENT) as found:
        found.journal.intend(run.identity, details={})
        yield found


def ended(context: Context, run: RunContext, checkpoints: int, generation: int = 1, kind: str = "lost") -> None:
    data = {"generation": generation, "kind": kind, "checkpoints": checkpoints}
    context.journal.append(run.run_id, "job_ended", data)


def test_recoveries_without_progress_are_counted_back_to_the_last_progress(context: Context, run: RunContext) -> None:
    for generation, checkpoints in enumerate((0, 2, 0, 0), 1):
        ended(context, run, checkpoints, generation)
    facts = run_facts.facts(context, run, 5, Observation.SILENT)
    assert (facts.recoveries, facts.recoveries_without_progress) == (4, 2)


def test_setup_failures_are_counted_back_to_the_last_job_that_started(context: Context, run: RunContext) -> None:
    for generation, kind in enumerate(("recovery", "job_started", "recovery", "recovery"), 1):
        context.journal.append(run.run_id, kind, {"generation": generation})
    assert run_facts.facts(context, run, 5, Observation.SETUP_FAILED).setup_failures == 3
    assert run_facts.facts(context, run, 4, Observation.SETUP_FAILED).setup_failures == 2  # asked again after a crash
    assert run_facts.facts(context, run, 4, Observation.HEALTHY).setup_failures == 0


def test_a_step_that_was_taken_twice_counts_once(context: Context, run: RunContext) -> None:
    for _ in range(2):
        ended(context, run, 0, kind="failed")
        context.journal.append(run.run_id, "recovery", {"generation": 1})
    facts = run_facts.facts(context, run, 2, Observation.SETUP_FAILED)
    assert (facts.job_failures, facts.recoveries_without_progress, facts.setup_failures) == (1, 1, 2)


def test_limits_come_from_the_job_and_else_from_the_environment(context: Context, run: RunContext) -> None:
    limits = run_facts.facts(context, run, 1, Observation.HEALTHY).limits
    assert (limits.budget_usd, limits.max_recoveries, limits.on_exit_codes) == (Decimal(100), 7, frozenset({3}))
    own = replace(run, job=replace(JOB, budget_usd=Decimal(5)))
    assert run_facts.facts(context, own, 1, Observation.HEALTHY).limits.budget_usd == Decimal(5)


def test_work_left_is_what_no_checkpoint_holds(context: Context, run: RunContext) -> None:
    job = replace(JOB, expected_hours=Decimal(10))
    own = replace(run, job=job)
    context.journal.append(run.run_id, "job_started", {"generation": 1})
    assert run_facts.facts(context, own, 1, Observation.HEALTHY).work_left_hours == 10
    saved_at = context.now().timestamp() + 7200
    context.journal.append(run.run_id, "checkpoint", {"generation": 1, "saved_at": saved_at})
    left = run_facts.facts(context, own, 1, Observation.HEALTHY).work_left_hours
    assert float(left or 0) == pytest.approx(8, abs=0.01)
    assert run_facts.facts(context, run, 1, Observation.HEALTHY).work_left_hours is None


def test_spend_is_the_ledger_s(context: Context, run: RunContext) -> None:
    attempt = context.journal.start_attempt(run.run_id, 1, FIRST)
    ledger.begin(context.journal, attempt, context.now() - timedelta(hours=2))
    assert run_facts.facts(context, run, 1, Observation.HEALTHY).spent_usd == Decimal("23.14")


def test_the_place_that_took_a_node_back_comes_last(context: Context, run: RunContext) -> None:
    assert run_facts.candidates(context, run, None) == (FIRST, SECOND, ON_DEMAND)
    context.journal.start_attempt(run.run_id, 1, FIRST)
    assert run_facts.candidates(context, run, None) == (SECOND, FIRST, ON_DEMAND)
    assert run_facts.candidates(context, run, Market.ON_DEMAND)[0] == ON_DEMAND


def test_a_move_goes_there_first_and_nowhere_is_lost(context: Context, run: RunContext) -> None:
    context.journal.start_attempt(run.run_id, 1, FIRST)
    assert run_facts.candidates(context, run, None, 2) == (ON_DEMAND, FIRST, SECOND)
    assert run_facts.candidates(context, run, Market.ON_DEMAND, 1) == (SECOND, ON_DEMAND, FIRST)


def test_a_move_is_no_recovery(context: Context, run: RunContext) -> None:
    for generation in (1, 2):
        for _ in range(2):  # taken again after a crash
            context.journal.append(run.run_id, "moving", {"generation": generation, "to": 1, "reason": "cheaper"})
    context.journal.append(run.run_id, "job_ended", {"generation": 1, "kind": "moving", "checkpoints": 0})
    facts = run_facts.facts(context, run, 2, Observation.HEALTHY)
    assert (facts.moves, facts.recoveries, facts.recoveries_without_progress) == (1, 0, 0)
    facts = run_facts.facts(context, run, 4, Observation.HEALTHY)
    assert (facts.moves, facts.recoveries) == (2, 1)
    decided = run_facts.moving(context, run.run_id, 2)
    assert decided is not None
    assert decided.data["to"] == 1
    assert run_facts.moving(context, run.run_id, 3) is None


def test_what_a_move_needs_is_of_this_generation(context: Context, run: RunContext) -> None:
    context.journal.append(run.run_id, "job_started", {"generation": 1})
    context.journal.append(run.run_id, "checkpoint", {"generation": 1, "saved_at": 0})
    facts = run_facts.facts(context, run, 1, Observation.HEALTHY)
    assert facts.committed
    assert facts.settled_at is not None
    later = run_facts.facts(context, run, 2, Observation.HEALTHY)
    assert (later.committed, later.settled_at) == (False, None)


def test_the_living_attempt_is_the_one_that_is_up(context: Context, run: RunContext) -> None:
    with pytest.raises(RigUnknown, match="no rig that is up"):
        run_facts.living(context, run.run_id)
    attempt = context.journal.start_attempt(run.run_id, 1, FIRST)
    context.journal.update_attempt(attempt, AttemptState.UP, nodes=())
    found = run_facts.living(context, run.run_id)
    assert run_facts.candidate_of(PLACEMENT, found) == FIRST
    context.journal.update_attempt(found, AttemptState.GONE)
    with pytest.raises(RigUnknown):
        run_facts.living(context, run.run_id)
