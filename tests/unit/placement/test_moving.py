"""What a move saves and costs, by hand."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.offers import COSTS, environment, job, offer, option
from trainrig.model.environment import CloudPolicy
from trainrig.model.job import Checkpoints, GpuRequest, Job, Mount, PlacementWishes
from trainrig.model.offer import Market
from trainrig.model.placement import Candidate
from trainrig.model.tariff import CloudCosts, Hazard
from trainrig.placement.moving import Place, Way, no_worse_wish, way
from trainrig.placement.score import score

SAVES = Checkpoints(path="/c", interval_minutes=Decimal(30), save_signal="SIGUSR1")
JOB = job(checkpoints=SAVES, placement=PlacementWishes(profile="cost"))


def costs(per_hour: str = "0", setup: int = 12) -> dict[str, CloudCosts]:
    hazards = (Hazard(per_hour=Decimal(per_hour), source="a test"),)
    tariff = {c: replace(COSTS[c].tariff, setup_minutes=Decimal(setup), hazards=hazards) for c in COSTS}
    tariff["gcp"] = replace(tariff["gcp"], schemes=("gs",))
    return {c: CloudCosts(tariff=tariff[c]) for c in COSTS}


def place(price: str, a_job: Job = JOB, **changes: Any) -> Place:
    one = option()
    found = offer(price, **changes)
    scored = score(a_job, one, found, costs())
    assert scored is not None
    candidate = Candidate(offer=found, nodes=a_job.nodes, expected_hours=Decimal(10), parts=scored.parts)
    return Place(candidate=candidate, option=one, price_hour_usd=Decimal(price))


def moved(a_job: Job, here: Place, there: Place, hours: str = "10", **more: Any) -> Way | None:
    return way(a_job, here, there, hours_left=Decimal(hours), costs=more.pop("costs", costs()), **more)


def usd(found: Way | None) -> tuple[str, str]:
    assert found is not None
    return str(round(found.saving_usd, 2)), str(round(found.cost_usd, 2))


def test_on_demand() -> None:
    # (10 - 6) x 10 h, in nine of ten cases; 0.2 h x 6, a tenth of 0.2 h x 10, and 0.05 h x 10 until the old rig is gone
    assert usd(moved(JOB, place("10"), place("6", zone="a"))) == ("36.00", "1.90")


def test_all_nodes_count() -> None:
    two = replace(JOB, nodes=2)
    assert usd(moved(two, place("10", two), place("6", two, zone="a"))) == ("72.00", "3.80")


def test_half_an_interval_is_lost_without_a_signal() -> None:
    deaf = replace(JOB, checkpoints=replace(SAVES, save_signal=None))
    assert usd(moved(deaf, place("10"), place("6", zone="a"))) == ("36.00", "3.40")  # 0.25 h x 6


def test_spot_is_often_not_to_be_had_and_counts_until_it_is_taken_back() -> None:
    spot = place("6", zone="a", market=Market.SPOT)
    # 0.6 x 40; 1.2, 0.4 x 2 and 0.5
    assert usd(moved(JOB, place("10"), spot)) == ("24.00", "2.50")
    # one in two hours: two hours count, and of them what it is expected to lose is work there
    short = moved(JOB, place("10"), spot, costs=costs("0.5"))
    assert short is not None
    assert 0 < short.saving_usd < Decimal("0.6") * 8
    assert moved(JOB, place("10"), spot, costs=costs("0.5"), hours="2") == short


def test_a_place_that_takes_machines_back_all_the_time_is_none() -> None:
    never = job(placement=PlacementWishes(profile="cost"))
    assert moved(never, place("10"), place("6", zone="a", market=Market.SPOT), costs=costs("30")) is None


def test_what_crosses_a_border_is_paid_for() -> None:
    heavy = replace(JOB, checkpoints=replace(SAVES, size_gb=Decimal(300)))
    there = place("6", cloud="gcp", region="us-central1")
    # 100 GB are free, 200 GB at 0.09
    assert usd(moved(heavy, place("10"), there))[1] == "19.90"
    assert usd(moved(heavy, place("10"), there, store="gs://kept/there"))[1] == "1.90"
    assert usd(moved(heavy, place("10"), place("6", region="us-west-2")))[1] == "7.90"  # 300 GB at 0.02
    data = replace(JOB, mounts=(Mount(target="/d", source="s3://b/d", size_gb=Decimal(300)),))
    assert usd(moved(data, place("10"), there)) == ("36.00", "19.90")
    # beside its data again: both copies are of machines that are not there yet, so the one here is not paid again
    assert usd(moved(data, place("10", cloud="gcp"), place("6"))) == ("36.00", "1.90")


def test_a_reservation_is_paid_for_anyway() -> None:
    assert moved(JOB, place("10", market=Market.RESERVED), place("6", zone="a")) is None
    assert moved(JOB, place("10"), place("6", zone="a"), hours="0") is None


@pytest.mark.parametrize(
    ("profile", "price", "hours", "moves"),
    [
        ("cost", "9.7", "1", True),
        ("balanced", "9", "10", True),
        ("balanced", "9.7", "1", False),  # a quarter of an hour more
        ("speed", "6.5", "100", False),
        ("speed", "5", "100", True),  # less than two thirds
    ],
)
def test_the_profile_weighs_the_time_that_a_move_takes(profile: Any, price: str, hours: str, moves: bool) -> None:
    wanted = replace(JOB, placement=PlacementWishes(profile=profile))
    assert (moved(wanted, place("10"), place(price, zone="a"), hours) is not None) is moves


def test_cheaper_is_no_reason_to_leave_what_people_put_first() -> None:
    here, there = place("10"), place("6", cloud="gcp", region="us-central1")
    assert no_worse_wish(JOB, environment(), here, there)
    first = environment(failover=("aws", "gcp"))
    assert not no_worse_wish(JOB, first, here, there)
    assert no_worse_wish(JOB, first, there, here)
    paid = environment(clouds=(CloudPolicy(cloud="aws", priority=1), CloudPolicy(cloud="gcp")))
    assert not no_worse_wish(JOB, paid, here, there)
    wishes = option(gpus=(GpuRequest(name="A100", count=8), GpuRequest(name="V100", count=8)), gpus_ordered=True)
    old = replace(there, option=wishes, candidate=replace(there.candidate, offer=offer("6", gpu="V100")))
    assert not no_worse_wish(JOB, environment(), replace(here, option=wishes), old)
    two = replace(JOB, options=(option(), option(region="us-central1")), ordered=True)
    assert not no_worse_wish(two, environment(), here, replace(there, option=two.options[1]))


PRICE = st.decimals("0.01", 100, places=2)


@given(PRICE, PRICE, PRICE, st.decimals("0.1", 200, places=1), st.sampled_from((Market.SPOT, Market.ON_DEMAND)))
def test_cheaper_never_saves_less_and_never_costs_more(
    here: Decimal, dear: Decimal, cheap: Decimal, hours: Decimal, market: Market
) -> None:
    dear, cheap = max(dear, cheap), min(dear, cheap)
    at = [place(str(p), zone="a", market=market) for p in (dear, cheap)]
    ways = [way(JOB, place(str(here)), one, hours_left=hours, costs=costs("0.1")) for one in at]
    assert ways[0] is not None
    assert ways[1] is not None
    assert ways[1].saving_usd >= ways[0].saving_usd
    assert 0 <= ways[1].cost_usd <= ways[0].cost_usd


@given(PRICE, st.decimals("0.1", 200, places=1))
def test_the_same_price_saves_nothing(price: Decimal, hours: Decimal) -> None:
    found = way(JOB, place(str(price)), place(str(price), zone="a"), hours_left=hours, costs=costs())
    assert found is not None
    assert found.saving_usd == 0
