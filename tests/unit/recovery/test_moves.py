"""When a running job moves: only for a saving that is larger than the way, and never to and fro."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainrig.model.job import MoveWishes
from trainrig.model.offer import Market
from trainrig.recovery.decide import CHEAPER_SHARE, decide, may_move
from trainrig.recovery.facts import Continue, Elsewhere, Facts, Limits, Move, Observation, Stop

START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = START + timedelta(hours=3)
THERE = Elsewhere(
    candidate=2,
    where="aws us-east-1b p4d.24xlarge spot",
    market=Market.SPOT,
    here_hour_usd=Decimal("12.50"),
    there_hour_usd=Decimal("8.00"),
    saving_usd=Decimal(40),
    cost_usd=Decimal(4),
)
FACTS = Facts(
    now=NOW,
    started_at=START,
    observation=Observation.HEALTHY,
    work_hours=Decimal(20),
    work_left_hours=Decimal(18),
    move=MoveWishes(),
    settled_at=START,
    committed=True,
    elsewhere=(THERE,),
)


def limits(**hours: float) -> dict[str, Any]:
    """Which end so many hours from now."""
    ends: dict[str, Any] = {name: NOW + timedelta(hours=h) for name, h in hours.items()}
    return {"limits": Limits(**ends)}


def there(**changes: Any) -> dict[str, Any]:
    return {"elsewhere": (replace(THERE, **changes),)}


def test_a_move_says_why() -> None:
    assert decide(FACTS) == Move(
        candidate=2,
        reason="aws us-east-1b p4d.24xlarge spot costs 8.0000 USD an hour instead of 12.5000: $40.00 less for the work"
        " left, and $4.00 for the move",
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"move": MoveWishes(min_saving_usd=Decimal(36))},
        {"move": MoveWishes(max_moves=3), "moves": 2},
        {"move": MoveWishes(wait_seconds=3 * 3600)},
        limits(deadline=24),  # 18 hours, twice 0.2 for the changeovers, and 0.85 of the time
        limits(deadline=18.5) | there(market=Market.ON_DEMAND),
        limits(timeout_at=18.5, lease_ends=18.5),
        {"limits": Limits(budget_usd=Decimal("4.01"))},
        there(there_hour_usd=Decimal("11.25")),
        {"market": Market.SPOT},
        {"recoveries": 50, "recoveries_without_progress": 2},  # which are limits of something else
    ],
)
def test_it_moves(changes: dict[str, Any]) -> None:
    assert isinstance(decide(replace(FACTS, **changes)), Move)


@pytest.mark.parametrize(
    "changes",
    [
        {"move": None},
        {"elsewhere": ()},
        {"committed": False},
        {"settled_at": None},
        {"work_left_hours": None},
        {"work_left_hours": Decimal(0)},
        {"move": MoveWishes(min_saving_usd=Decimal("36.01"))},
        {"move": MoveWishes(max_moves=2), "moves": 2},
        {"move": MoveWishes(wait_seconds=3 * 3600 + 1)},
        limits(deadline=18.3),  # a second changeover does not fit
        limits(timeout_at=18.3),
        limits(lease_ends=18.3),
        limits(deadline=20),  # the deadline asks for on-demand
        {"limits": Limits(budget_usd=Decimal(4))},
        there(there_hour_usd=Decimal("11.26")),  # 0.9 of 12.50 is 11.25
        there(cost_usd=Decimal(40)),
        there(saving_usd=Decimal("4.50")),
    ],
)
def test_it_stays(changes: dict[str, Any]) -> None:
    assert decide(replace(FACTS, **changes)) == Continue()


def test_the_best_place_wins_and_the_earlier_candidate_of_two_alike() -> None:
    places = (
        replace(THERE, candidate=5),
        replace(THERE, candidate=7, cost_usd=Decimal(1)),
        replace(THERE, candidate=4),
    )
    action = decide(replace(FACTS, elsewhere=places))
    assert isinstance(action, Move)
    assert action.candidate == 7
    alike = decide(replace(FACTS, elsewhere=(places[0], places[2])))
    assert isinstance(alike, Move)
    assert alike.candidate == 4


def test_a_limit_comes_before_a_move() -> None:
    spent = replace(FACTS, spent_usd=Decimal(10), limits=Limits(budget_usd=Decimal(10)))
    assert isinstance(decide(spent), Stop)


@pytest.mark.parametrize("observation", [o for o in Observation if o is not Observation.HEALTHY])
def test_only_a_healthy_job_moves(observation: Observation) -> None:
    assert not isinstance(decide(replace(FACTS, observation=observation)), Move)


USD = st.decimals(0, 100, places=2)
PLACES = st.lists(
    st.builds(
        Elsewhere,
        candidate=st.integers(0, 9),
        where=st.just("there"),
        market=st.sampled_from(Market),
        here_hour_usd=USD,
        there_hour_usd=USD,
        saving_usd=st.decimals(-100, 100, places=2),
        cost_usd=USD,
    ),
    max_size=5,
).map(tuple)
ANY = st.builds(
    Facts,
    now=st.just(NOW),
    started_at=st.just(START),
    observation=st.sampled_from(Observation),
    spent_usd=USD,
    work_hours=st.none() | USD,
    work_left_hours=st.none() | USD,
    limits=st.builds(
        Limits,
        budget_usd=st.none() | USD,
        deadline=st.none() | st.integers(-5, 200).map(lambda h: NOW + timedelta(hours=h)),
    ),
    move=st.none()
    | st.builds(
        MoveWishes,
        min_saving_usd=USD,
        wait_seconds=st.integers(0, 5 * 3600),
        max_moves=st.none() | st.integers(1, 5),
    ),
    moves=st.integers(0, 5),
    settled_at=st.none() | st.just(START),
    committed=st.booleans(),
    elsewhere=PLACES,
)


@given(ANY)
def test_never_without_a_checkpoint_never_for_less_than_the_way_and_never_late(facts: Facts) -> None:
    action = decide(facts)
    if not isinstance(action, Move):
        return
    assert facts.committed
    assert facts.move is not None
    assert may_move(facts)
    chosen = [e for e in facts.elsewhere if e.candidate == action.candidate]
    assert any(e.saving_usd > e.cost_usd and e.gain_usd >= facts.move.min_saving_usd for e in chosen)
    assert any(e.there_hour_usd <= CHEAPER_SHARE * e.here_hour_usd for e in chosen)
    if facts.limits.deadline is not None and facts.work_left_hours is not None:
        left = facts.limits.deadline - facts.now
        assert left >= timedelta(hours=float(facts.work_left_hours + 2 * facts.changeover_hours))


@given(ANY, st.decimals(0, 50, places=2))
def test_where_it_moves_for_a_price_it_moves_for_less(facts: Facts, less: Decimal) -> None:
    cheaper = tuple(
        replace(e, there_hour_usd=max(e.there_hour_usd - less, Decimal(0)), saving_usd=e.saving_usd + less)
        for e in facts.elsewhere
    )
    if isinstance(decide(facts), Move):
        assert isinstance(decide(replace(facts, elsewhere=cheaper)), Move)


@given(USD.filter(bool), st.decimals("0.9001", "1.1", places=4))
def test_prices_within_a_tenth_of_one_another_move_nothing(here: Decimal, share: Decimal) -> None:
    """However long the work that is left, so that two places whose prices go up and down a little are not traded."""
    one = replace(
        THERE, here_hour_usd=here, there_hour_usd=here * share, saving_usd=Decimal(10**6), cost_usd=Decimal(0)
    )
    assert decide(replace(FACTS, elsewhere=(one,))) == Continue()


@given(st.lists(st.tuples(USD, USD), min_size=2, max_size=40), st.integers(1, 4))
def test_it_stays_in_each_place_as_long_as_it_waits(prices: list[tuple[Decimal, Decimal]], wait: int) -> None:
    """Two places, a look an hour, any prices: between two moves the wait has passed."""
    at, settled, moved = 0, START, []
    for hour, pair in enumerate(prices):
        now = START + timedelta(hours=hour)
        one = replace(
            THERE,
            candidate=1 - at,
            here_hour_usd=pair[at],
            there_hour_usd=pair[1 - at],
            saving_usd=18 * (pair[at] - pair[1 - at]),
        )
        facts = replace(FACTS, now=now, settled_at=settled, move=MoveWishes(wait_seconds=wait * 3600), elsewhere=(one,))
        if isinstance(decide(facts), Move):
            at, settled = 1 - at, now
            moved.append(hour)
    assert all(after - before >= wait for before, after in pairwise(moved))
