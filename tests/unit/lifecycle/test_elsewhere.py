"""Where a running job could be had cheaper: the clouds' answers and the catalogue are played."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest

from support import rigs
from trainrig.errors import CommandFailed
from trainrig.lifecycle import elsewhere, quotes, run_facts
from trainrig.lifecycle.context import Context, opened
from trainrig.lifecycle.elsewhere import Lookout, look
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.events import Event, Progress
from trainrig.model.fault import FaultClass
from trainrig.model.job import Checkpoints, Job, MoveWishes, PlacementWishes, Recovery, ResourceOption
from trainrig.model.offer import Market, Offer
from trainrig.model.placement import CatalogStamp, Placement
from trainrig.recovery.facts import Facts, Observation
from trainrig.store import cooldowns
from trainrig.store.journal import Attempt, AttemptState

ENVIRONMENT = Environment(name="test", clouds=(CloudPolicy(cloud="aws"),))
ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
PLACES = tuple(rigs.candidate(zone=zone) for zone in ZONES)
LISTED = rigs.candidate(zone="us-east-1a", market=Market.ON_DEMAND, price_hour_usd=Decimal(30))
PLACEMENT = Placement(
    job="finetune",
    catalog=CatalogStamp(digest="d", captured_at=None, age_hours=None, offers=4),
    chosen=PLACES[0],
    fallbacks=(*PLACES[1:], LISTED),
    rejections=(),
)
JOB = Job(
    name="finetune",
    options=(ResourceOption(),),
    checkpoints=Checkpoints(path="/c", save_signal="SIGUSR1"),
    expected_hours=Decimal(30),
    recovery=Recovery(move=MoveWishes(wait_seconds=0)),
    placement=PlacementWishes(profile="cost"),
)
AWAY = CommandFailed("no route to host")

Prices = dict[str | None, Decimal | Exception]


@pytest.fixture
def said() -> list[Event]:
    return []


@pytest.fixture
def run(said: list[Event]) -> RunContext:
    return RunContext(
        identity=rigs.identity(), job=JOB, environment=ENVIRONMENT, placement=PLACEMENT, observe=said.append
    )


@pytest.fixture
def context(run: RunContext) -> Iterator[Context]:
    with opened(ENVIRONMENT, observe=run.observe) as found:
        found.journal.intend(replace(run.identity, expires_at=found.now() + timedelta(days=7)), details={})
        yield found


@pytest.fixture
def attempt(context: Context, run: RunContext) -> Attempt:
    """In us-east-1a, at 11.57 an hour."""
    made = context.journal.start_attempt(run.run_id, 1, PLACES[0])
    context.journal.append(run.run_id, "job_started", {"generation": 1})
    context.journal.append(run.run_id, "checkpoint", {"generation": 1, "saved_at": context.now().timestamp()})
    return context.journal.update_attempt(made, AttemptState.UP, nodes=())


@pytest.fixture
def prices(monkeypatch: pytest.MonkeyPatch) -> Prices:
    """What the cloud answers for a spot machine, by zone."""
    found: Prices = dict.fromkeys(ZONES, Decimal("11.57"))

    def asked(_context: Context, offer: Offer) -> Decimal | None:
        price = found[offer.zone]
        if isinstance(price, Exception):
            raise price
        return price if offer.market is Market.SPOT else None

    monkeypatch.setattr(quotes, "asked", asked)
    monkeypatch.setattr(quotes, "catalogue", lambda *_: {})
    return found


Zones = Callable[[], list[str]]


@pytest.fixture
def cheaper(context: Context, run: RunContext, attempt: Attempt) -> Zones:
    """The zones that a look finds."""

    def found() -> list[str]:
        facts = run_facts.facts(context, run, attempt.generation, Observation.HEALTHY)
        return [e.where.split()[1] for e in look(context, run, attempt, facts)]

    return found


def test_what_the_cloud_asks_now_counts(cheaper: Zones, prices: Prices) -> None:
    assert cheaper() == []
    prices["us-east-1b"] = Decimal(8)
    assert cheaper() == ["us-east-1b"]
    prices["us-east-1a"] = Decimal("7.50")  # it has fallen here too
    assert cheaper() == []
    prices["us-east-1a"], prices["us-east-1b"] = Decimal(15), Decimal("11.57")  # it has risen here
    assert sorted(cheaper()) == ["us-east-1b", "us-east-1c"]


def test_what_it_finds_says_how_much(context: Context, run: RunContext, attempt: Attempt, prices: Prices) -> None:
    prices["us-east-1c"] = Decimal(4)
    facts = run_facts.facts(context, run, 1, Observation.HEALTHY)
    (found,) = look(context, run, attempt, facts)
    assert (found.candidate, found.where) == (2, "aws us-east-1c p4d.24xlarge spot")
    assert (found.here_hour_usd, found.there_hour_usd) == (Decimal("11.57"), Decimal(4))
    assert found.saving_usd > found.cost_usd > 0


def test_a_machine_on_demand_costs_what_was_agreed(context: Context, run: RunContext, prices: Prices) -> None:
    made = context.journal.start_attempt(run.run_id, 1, LISTED)
    up = context.journal.update_attempt(made, AttemptState.UP, nodes=())
    prices["us-east-1a"] = Decimal(50)  # of spot
    facts = replace(run_facts.facts(context, run, 1, Observation.HEALTHY), work_left_hours=Decimal(30))
    found = tuple(look(context, run, up, facts))
    assert {e.here_hour_usd for e in found} == {Decimal(30)}
    assert sorted(e.where.split()[1] for e in found) == ["us-east-1b", "us-east-1c"]


def test_a_cloud_that_does_not_answer_moves_nothing(cheaper: Zones, prices: Prices, said: list[Event]) -> None:
    prices["us-east-1b"] = AWAY
    prices["us-east-1c"] = Decimal(8)
    assert cheaper() == ["us-east-1c"]
    assert [e.message for e in said if isinstance(e, Progress)] == ["aws names no price now: no route to host"]
    prices["us-east-1a"] = AWAY  # here: what was agreed counts
    assert cheaper() == ["us-east-1c"]


def test_a_price_of_nothing_is_no_price(cheaper: Zones, prices: Prices) -> None:
    prices["us-east-1b"] = Decimal(0)
    assert cheaper() == []


def test_a_place_that_rests_is_none(context: Context, cheaper: Zones, prices: Prices) -> None:
    prices["us-east-1b"] = prices["us-east-1c"] = Decimal(8)
    cooldowns.remember(context.journal, PLACES[1].offer, FaultClass.CAPACITY, "full", context.now())
    assert cheaper() == ["us-east-1c"]


def test_a_place_that_refused_this_run_rests_longer_each_time(
    context: Context, run: RunContext, prices: Prices, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices["us-east-1b"] = Decimal(8)
    for _ in range(2):
        refused = context.journal.start_attempt(run.run_id, 1, PLACES[1])
        context.journal.update_attempt(refused, AttemptState.GONE, fault=FaultClass.CAPACITY)
    made = context.journal.start_attempt(run.run_id, 1, PLACES[0])
    up = context.journal.update_attempt(made, AttemptState.UP, nodes=())
    facts = replace(run_facts.facts(context, run, 1, Observation.HEALTHY), work_left_hours=Decimal(30))
    times = [context.now() + timedelta(hours=hours) for hours in (0.9, 1.9, 2.1)]
    for at, found in zip(times, ([], [], ["us-east-1b"]), strict=True):
        later = replace(context, now=partial(lambda moment: moment, at))
        assert [e.where.split()[1] for e in look(later, run, up, facts)] == found


def test_a_place_that_took_a_rig_back_rests(context: Context, run: RunContext, prices: Prices) -> None:
    prices["us-east-1b"] = Decimal(8)
    gone = context.journal.start_attempt(run.run_id, 1, PLACES[1])
    context.journal.update_attempt(gone, AttemptState.GONE)
    context.journal.append(run.run_id, "job_ended", {"generation": 1, "kind": "lost", "checkpoints": 1})
    made = context.journal.start_attempt(run.run_id, 2, PLACES[0])
    up = context.journal.update_attempt(made, AttemptState.UP, nodes=())
    facts = replace(run_facts.facts(context, run, 2, Observation.HEALTHY), work_left_hours=Decimal(30))
    assert list(look(context, run, up, facts)) == []
    later = replace(context, now=lambda: rigs.NOW.replace(year=2100))
    assert [e.where.split()[1] for e in look(later, run, up, facts)] == ["us-east-1b"]


def test_the_written_order_and_the_caps_hold(
    context: Context, run: RunContext, attempt: Attempt, prices: Prices
) -> None:
    prices["us-east-1b"] = Decimal(8)
    facts = run_facts.facts(context, run, 1, Observation.HEALTHY)
    first = replace(ENVIRONMENT, failover=("aws/us-east-1/us-east-1a",))
    assert list(look(context, replace(run, environment=first), attempt, facts)) == []
    capped = replace(ENVIRONMENT, price_caps_gpu_hour_usd={"A100": Decimal("0.99")})
    assert list(look(context, replace(run, environment=capped), attempt, facts)) == []
    capped = replace(ENVIRONMENT, price_caps_gpu_hour_usd={"A100": Decimal(1)})
    assert len(list(look(context, replace(run, environment=capped), attempt, facts))) == 1


def test_only_the_cheapest_by_the_catalogue_are_asked_about(
    context: Context, run: RunContext, attempt: Attempt, prices: Prices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere, "MOST_ASKED", 1)
    prices["us-east-1b"] = prices["us-east-1c"] = Decimal(8)
    known = {quotes._key(PLACES[2].offer): Decimal(9)}
    monkeypatch.setattr(quotes, "catalogue", lambda *_: known)
    facts = run_facts.facts(context, run, 1, Observation.HEALTHY)
    assert [e.candidate for e in look(context, run, attempt, facts)] == [2]


def looked(lookout: Lookout, facts: Facts) -> Facts:
    """The facts after the look that has begun has ended."""
    lookout.seen(facts)
    until = time.monotonic() + 10
    while lookout._thread is not None and lookout._thread.is_alive() and time.monotonic() < until:
        time.sleep(0.01)
    return lookout.seen(facts)


def test_a_lookout_looks_only_when_a_move_could_follow(
    context: Context, run: RunContext, attempt: Attempt, prices: Prices
) -> None:
    prices["us-east-1b"] = Decimal(8)
    facts = run_facts.facts(context, run, 1, Observation.HEALTHY)
    lookout = Lookout(run, attempt)
    for idle in (replace(facts, move=None), replace(facts, committed=False), replace(facts, work_left_hours=None)):
        assert looked(lookout, idle) == idle
        assert lookout._thread is None
    assert [e.candidate for e in looked(lookout, facts).elsewhere] == [1]


def test_trouble_while_looking_is_said_once_and_is_no_news(
    context: Context,
    run: RunContext,
    attempt: Attempt,
    prices: Prices,
    said: list[Event],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> dict[object, Decimal]:
        raise CommandFailed("the catalogue is locked")

    facts = run_facts.facts(context, run, 1, Observation.HEALTHY)
    monkeypatch.setattr(quotes, "catalogue", broken)
    monkeypatch.setattr(elsewhere, "SHORTEST_LOOK_SECONDS", 0.0)
    lookout = Lookout(run, attempt)
    for _ in range(3):
        assert looked(lookout, facts).elsewhere == ()
    words = "prices elsewhere are not known: the catalogue is locked"
    assert [e.message for e in said if isinstance(e, Progress)] == [words]
