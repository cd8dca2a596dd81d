from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainrig.model.offer import Market
from trainrig.recovery.decide import decide, market_for
from trainrig.recovery.facts import (
    Action,
    AskCloud,
    Continue,
    Facts,
    Fail,
    Finish,
    Limits,
    Observation,
    Prepare,
    Replace,
    RestartJob,
    Stop,
    Wait,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
BASE = Facts(now=START + timedelta(hours=1), started_at=START, observation=Observation.HEALTHY)
PAST_BUDGET = Limits(budget_usd=Decimal(10))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (BASE, Continue()),
        (replace(BASE, observation=Observation.JOB_DONE), Finish()),
        (
            replace(BASE, observation=Observation.NOWHERE, recoveries=500, recoveries_without_progress=9),
            Wait(market=None),
        ),
        (replace(BASE, observation=Observation.SAVED), Replace(market=None, reason="the cloud takes a node back")),
        (
            replace(BASE, observation=Observation.SAVED, recoveries=2, limits=Limits(max_recoveries=2)),
            Stop(limit="max_recoveries", reason="recovered 2 times, 2 are allowed"),
        ),
        (replace(BASE, observation=Observation.SILENT, silent_seconds=19), Continue()),
        (replace(BASE, observation=Observation.SILENT, silent_seconds=20), Prepare()),
        (replace(BASE, observation=Observation.SILENT, silent_seconds=60), AskCloud()),
        (replace(BASE, observation=Observation.SILENT, silent_seconds=61, nodes_alive=True), Continue()),
        (
            replace(BASE, observation=Observation.SILENT, silent_seconds=1, nodes_alive=False),
            Replace(market=None, reason="a node was lost without notice"),
        ),
        (replace(BASE, observation=Observation.JOB_FAILED, job_exit_code=3), AskCloud()),
        (
            replace(BASE, observation=Observation.JOB_FAILED, job_exit_code=3, nodes_alive=True, job_failures=1),
            Fail(job_exit_code=3),
        ),
        (
            replace(
                BASE,
                observation=Observation.JOB_FAILED,
                job_exit_code=3,
                nodes_alive=True,
                job_failures=1,
                limits=Limits(on_exit_codes=frozenset({3})),
            ),
            RestartJob(),
        ),
    ],
)
def test_table(facts: Facts, expected: Action) -> None:
    assert decide(facts) == expected


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"limits": PAST_BUDGET, "spent_usd": Decimal(10)}, "budget"),
        ({"limits": Limits(deadline=BASE.now)}, "deadline"),
        ({"limits": Limits(timeout_at=BASE.now)}, "timeout"),
        ({"limits": Limits(lease_ends=BASE.now + timedelta(minutes=1))}, "lease"),
        ({"limits": Limits(max_recoveries=2), "recoveries": 2}, "max_recoveries"),
        ({"recoveries_without_progress": 3}, "no_progress"),
    ],
)
def test_a_lost_node_is_not_replaced_past_a_limit(changes: dict[str, object], limit: str) -> None:
    lost = replace(BASE, observation=Observation.JOB_FAILED, nodes_alive=False)
    assert isinstance(decide(lost), Replace)
    action = decide(replace(lost, **changes))  # type: ignore[arg-type]
    assert isinstance(action, Stop)
    assert action.limit == limit


def test_a_job_that_fails_is_started_again_as_often_as_it_asks() -> None:
    failed = replace(
        BASE,
        observation=Observation.JOB_FAILED,
        job_exit_code=1,
        nodes_alive=True,
        limits=Limits(max_restarts_on_errors=2),
    )
    assert decide(replace(failed, job_failures=2)) == RestartJob()
    assert decide(replace(failed, job_failures=3)) == Fail(job_exit_code=1)


def test_many_recoveries_with_progress_are_no_reason_to_stop() -> None:
    lost = replace(BASE, observation=Observation.SILENT, silent_seconds=90, nodes_alive=False, recoveries=500)
    assert isinstance(decide(lost), Replace)


def test_a_retryable_exit_code_without_progress_ends_as_the_jobs_failure() -> None:
    facts = replace(
        BASE,
        observation=Observation.JOB_FAILED,
        job_exit_code=7,
        nodes_alive=True,
        recoveries_without_progress=3,
        limits=Limits(on_exit_codes=frozenset({7})),
    )
    assert decide(facts) == Fail(job_exit_code=7)


@pytest.mark.parametrize(
    ("work_left", "hours_left", "expected"),
    [
        ("8", 20, None),  # plenty of time: spot
        ("8", "8.5", Market.ON_DEMAND),  # 8.2 / 8.5 > 0.85
        ("8", "10", None),  # 8.2 / 10 = 0.82, and two more changeovers still fit
        ("8", "9.5", Market.ON_DEMAND),  # 8.2 / 9.5 > 0.85
        ("0.1", "0.5", Market.ON_DEMAND),  # share 0.6, but no room for a second changeover
        ("1", "-1", Market.ON_DEMAND),
    ],
)
def test_market_follows_the_deadline(work_left: str, hours_left: str, expected: Market | None) -> None:
    facts = replace(
        BASE,
        work_hours=Decimal(8),
        work_left_hours=Decimal(work_left),
        limits=Limits(deadline=BASE.now + timedelta(hours=float(hours_left))),
    )
    assert market_for(facts) is expected


def test_a_job_tighter_than_the_share_keeps_spot_at_its_own_share() -> None:
    # 9.5 h of work in a 10 h window: the job's own share, 0.95, is the threshold.
    facts = replace(
        BASE,
        now=START,
        work_hours=Decimal("9.5"),
        work_left_hours=Decimal("9.0"),
        changeover_hours=Decimal("0.1"),
        limits=Limits(deadline=START + timedelta(hours=10)),
    )
    assert market_for(facts) is None


ANY_FACTS = st.builds(
    Facts,
    now=st.just(BASE.now),
    started_at=st.just(START),
    observation=st.sampled_from(Observation),
    job_exit_code=st.none() | st.integers(0, 255),
    silent_seconds=st.floats(0, 1e6),
    nodes_alive=st.none() | st.booleans(),
    recoveries=st.integers(0, 50),
    recoveries_without_progress=st.integers(0, 5),
    setup_failures=st.integers(0, 5),
    spent_usd=st.decimals(0, 1000, places=2),
    work_hours=st.none() | st.decimals(0, 100, places=2),
    work_left_hours=st.none() | st.decimals(0, 100, places=2),
    market=st.sampled_from(Market),
    spot_obtainable=st.booleans(),
    limits=st.builds(
        Limits,
        budget_usd=st.none() | st.decimals(0, 1000, places=2),
        deadline=st.none() | st.just(BASE.now + timedelta(hours=5)) | st.just(BASE.now - timedelta(hours=5)),
        max_recoveries=st.none() | st.integers(0, 9),
        on_exit_codes=st.frozensets(st.integers(0, 255)),
    ),
)


@given(ANY_FACTS)
def test_never_replaces_what_may_live_or_costs_more_than_allowed(facts: Facts) -> None:
    action = decide(facts)
    assert action == decide(facts)
    if isinstance(action, Replace):
        ended = {Observation.SETUP_FAILED, Observation.SAVED}  # it never ran, or has saved and was stopped
        assert facts.nodes_alive is False or facts.observation in ended
        assert facts.limits.budget_usd is None or facts.spent_usd < facts.limits.budget_usd
        assert facts.limits.deadline is None or facts.now < facts.limits.deadline
    if isinstance(action, Fail):
        assert facts.nodes_alive is True


@pytest.mark.parametrize("limit", ["deadline", "timeout", "lease", "budget"])
def test_a_run_does_not_wait_for_machines_beyond_its_limits(limit: str) -> None:
    passed = START + timedelta(minutes=59)
    limits = {
        "deadline": Limits(deadline=passed),
        "timeout": Limits(timeout_at=passed),
        "lease": Limits(lease_ends=passed),
        "budget": Limits(budget_usd=Decimal(5)),
    }[limit]
    action = decide(replace(BASE, observation=Observation.NOWHERE, spent_usd=Decimal(5), limits=limits))
    assert isinstance(action, Stop)
    assert action.limit == limit
