"""What is wrong with a price, and what is done about it. The rules are listed in docs/placement.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from trainrig.model.offer import Market, Offer

ZERO_PRICE = "zero_price"
SPOT_ABOVE_ON_DEMAND = "spot_above_on_demand"
SPOT_EQUALS_ON_DEMAND = "spot_equals_on_demand"
FAR_BELOW_SIBLINGS = "far_below_siblings"
FAR_ABOVE_SIBLINGS = "far_above_siblings"
OTHER_SKU = "other_sku"

# Flag -> why such an offer is not bought.
REFUSED = {
    ZERO_PRICE: "a price of zero is a missing price",
    SPOT_ABOVE_ON_DEMAND: "spot is listed above on-demand, so one of the two is wrong",
    SPOT_EQUALS_ON_DEMAND: "spot is listed at the on-demand price: a placeholder, or no spot market there",
    FAR_BELOW_SIBLINGS: "less than a third of what the other zones of the region ask",
    OTHER_SKU: "the source took the price from another product",
}
# Flag -> what to know of an offer that is bought all the same.
KEPT = {FAR_ABOVE_SIBLINGS: "more than three times what the other zones of the region ask"}

FACTOR = 3
_SAME = Decimal("0.00005")  # equal to four digits


def checked(offers: Iterable[Offer], *, free: Collection[str] = ()) -> list[Offer]:
    """The offers with their flags added. `free` are clouds where zero is a price.

    Spot is compared with on-demand in the same zone, a zone with the other zones of its region, so all offers of a
    machine type must be there together.
    """
    listed = list(offers)
    by_type: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for i, offer in enumerate(listed):
        if offer.price_hour_usd is None:
            continue
        if offer.price_hour_usd > 0:
            by_type[offer.cloud, offer.region, offer.instance_type].append(i)
        elif offer.cloud not in free:
            listed[i] = _flagged(offer, ZERO_PRICE)
    for places in by_type.values():
        if len(places) > 1:
            _compare_markets(listed, places)
            _compare_zones(listed, places)
    return listed


def _believed(listed: list[Offer], places: Sequence[int]) -> list[int]:
    """Those whose price is fit to compare others with."""
    return [i for i in places if refusal(listed[i]) is None]


def _compare_markets(listed: list[Offer], places: Sequence[int]) -> None:
    by_zone: dict[str | None, dict[Market, list[int]]] = defaultdict(lambda: defaultdict(list))
    for i in _believed(listed, places):
        by_zone[listed[i].zone][listed[i].market].append(i)
    for markets in by_zone.values():
        for spot in markets[Market.SPOT]:
            for on_demand in markets[Market.ON_DEMAND]:
                gap = _price(listed[spot]) - _price(listed[on_demand])
                if abs(gap) < _SAME:
                    listed[spot] = _flagged(listed[spot], SPOT_EQUALS_ON_DEMAND)
                elif gap > 0:
                    listed[spot] = _flagged(listed[spot], SPOT_ABOVE_ON_DEMAND)
                    listed[on_demand] = _flagged(listed[on_demand], SPOT_ABOVE_ON_DEMAND)


def _compare_zones(listed: list[Offer], places: Sequence[int]) -> None:
    for market in (Market.SPOT, Market.ON_DEMAND):
        zonal = [i for i in _believed(listed, places) if listed[i].zone is not None and listed[i].market is market]
        prices = {i: _price(listed[i]) for i in zonal}
        for i in zonal:
            others = [price for j, price in prices.items() if listed[j].zone != listed[i].zone]
            if not others:
                continue
            usual = _median(others)
            if prices[i] * FACTOR < usual:
                listed[i] = _flagged(listed[i], FAR_BELOW_SIBLINGS)
            elif prices[i] > usual * FACTOR:
                listed[i] = _flagged(listed[i], FAR_ABOVE_SIBLINGS)


def _median(prices: list[Decimal]) -> Decimal:
    ordered = sorted(prices)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def refusal(offer: Offer) -> str | None:
    """Why the price of a checked offer is not believed, or None."""
    return next((REFUSED[flag] for flag in offer.flags if flag in REFUSED), None)


def is_stale(offer: Offer, now: datetime, max_age_hours: int) -> bool:
    return now - offer.captured_at > timedelta(hours=max_age_hours)


def refreshed_types(offers: Iterable[Offer], now: datetime, max_age_hours: int) -> set[tuple[str, str, str]]:
    """(cloud, region, instance type) of which some price is fresh: there, an old price is no longer believed. Where
    all prices are old, the old ones are used and the placement says so."""
    return {(o.cloud, o.region, o.instance_type) for o in offers if not is_stale(o, now, max_age_hours)}


def _flagged(offer: Offer, flag: str) -> Offer:
    return offer if flag in offer.flags else replace(offer, flags=tuple(sorted((*offer.flags, flag))))


def _price(offer: Offer) -> Decimal:
    assert offer.price_hour_usd is not None
    return offer.price_hour_usd
