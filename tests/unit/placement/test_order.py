from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from support.offers import COSTS, job, offer, placed
from trainrig.model.job import Checkpoints, PlacementWishes, Profile
from trainrig.model.offer import Market, Offer
from trainrig.model.tariff import Hazard

# Spot is taken back once in five hours, so that it is cheaper and slower.
RISKY = {
    **COSTS,
    "aws": replace(
        COSTS["aws"],
        tariff=replace(COSTS["aws"].tariff, hazards=(Hazard(per_hour=Decimal("0.2"), source="a test"),)),
    ),
}


def chosen(profile: Profile, *offers: Offer) -> Offer:
    wishes = PlacementWishes(profile=profile)
    a_job = job(placement=wishes, checkpoints=Checkpoints(path="/c", interval_minutes=Decimal(60)))
    placement = placed(offers, a_job, costs=RISKY)
    assert placement.chosen is not None
    return placement.chosen.offer


def spot(price: str, **changes: Any) -> Offer:
    return offer(price, market=Market.SPOT, **changes)


@pytest.mark.parametrize(
    ("profile", "on_demand_price", "wins"),
    [
        # spot comes to 11.07 h at 10, which is 110.70
        ("cost", "11.00", Market.ON_DEMAND),
        ("cost", "11.08", Market.SPOT),
        # cost x hours: 110.70 x 11.07 = 1225.4 against 10 h at 12.25 or 12.26
        ("balanced", "12.25", Market.ON_DEMAND),
        ("balanced", "12.26", Market.SPOT),
        # the fastest within 1.5 x 110.70 = 166.05
        ("speed", "16.60", Market.ON_DEMAND),
        ("speed", "16.61", Market.SPOT),
    ],
)
def test_what_an_hour_is_worth_to_a_profile(profile: Profile, on_demand_price: str, wins: Market) -> None:
    assert chosen(profile, spot("10"), offer(on_demand_price)).market is wins


def test_speed_orders_by_cost_what_is_beyond_one_and_a_half_times_the_cheapest() -> None:
    wishes = PlacementWishes(profile="speed")
    offers = [offer(p, region=f"us-{p}") for p in ("30", "10", "20", "15", "14")]

    placement = placed(offers, job(placement=wishes))

    assert [str(c.offer.price_hour_usd) for c in placement.candidates] == ["10", "14", "15", "20", "30"]


def test_equals_are_told_apart_by_price_then_by_name() -> None:
    # 0.0004 an hour more is the same bill to the cent
    dearer = offer("10.0004", region="us-east-1")
    offers = [offer("10", cloud="gcp"), offer("10", region="us-west-2"), dearer, offer("10", region="us-east-2")]

    placement = placed(offers)

    assert [(c.offer.cloud, c.offer.region) for c in placement.candidates] == [
        ("aws", "us-east-2"),
        ("aws", "us-west-2"),
        ("gcp", "us-east-1"),
        ("aws", "us-east-1"),
    ]
