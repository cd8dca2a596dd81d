from __future__ import annotations

from datetime import timedelta
from typing import Any

from support.offers import CAPTURED, NOW, offer
from trainrig.catalog import quality
from trainrig.model.offer import Market, Offer


def spot(price: str, **changes: Any) -> Offer:
    return offer(price, market=Market.SPOT, **changes)


def flags(*offers: Offer) -> list[tuple[str, ...]]:
    return [o.flags for o in quality.checked(offers)]


def test_spot_above_on_demand_casts_doubt_on_both() -> None:
    doubt = ("spot_above_on_demand",)

    assert flags(spot("15.71"), offer("14.77")) == [doubt, doubt]


def test_spot_at_the_on_demand_price_is_a_placeholder() -> None:
    assert flags(spot("10.00001"), offer("10")) == [("spot_equals_on_demand",), ()]


def test_spot_below_on_demand_is_as_it_should_be() -> None:
    assert flags(spot("9.99"), offer("10")) == [(), ()]


def test_a_zone_far_below_the_others_is_refused_and_one_far_above_is_told() -> None:
    zones = [spot(p, zone=z) for p, z in (("2.4655", "az1"), ("8.19", "az2"), ("7.88", "az3"), ("25.1", "az4"))]

    checked = quality.checked(zones)

    assert [o.flags for o in checked] == [("far_below_siblings",), (), (), ("far_above_siblings",)]
    assert [quality.refusal(o) is not None for o in checked] == [True, False, False, False]


def test_a_placeholder_is_no_sibling_to_compare_with() -> None:
    zones = [spot("4.55", zone="az2"), spot("25.25", zone="az1"), offer("25.25", zone="az1")]

    assert flags(*zones) == [(), ("spot_equals_on_demand",), ()]


def test_a_price_from_another_product_judges_nobody() -> None:
    assert flags(spot("20.11"), offer("19", flags=("other_sku",))) == [(), ("other_sku",)]


def test_zero_is_a_price_only_where_things_are_free() -> None:
    assert flags(offer("0"), offer("-1")) == [("zero_price",), ("zero_price",)]
    assert [o.flags for o in quality.checked([offer("0")], free={"aws"})] == [()]


def test_regions_and_types_are_not_compared_with_one_another() -> None:
    assert flags(offer("1"), offer("10", region="us-east-2"), offer("100", instance_type="p4de")) == [(), (), ()]


def test_a_type_counts_as_refreshed_when_one_of_its_prices_is_new() -> None:
    old, new = offer(captured_at=NOW - timedelta(hours=25)), offer(captured_at=CAPTURED, instance_type="p4de")

    assert quality.refreshed_types([old, new], NOW, 24) == {("aws", "us-east-1", "p4de")}
