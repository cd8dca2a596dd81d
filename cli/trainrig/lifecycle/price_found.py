"""What machines found in a cloud cost an hour: its inventory knows their type, the catalogue the price of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal

from trainrig.catalog.query import OfferFilter
from trainrig.clouds.base import Resource
from trainrig.lifecycle.place import open_index
from trainrig.model.offer import Market

Prices = Mapping[tuple[str, str, str, Market], Decimal]  # (cloud, region, type, market) -> the dearest zone's


def priced(resources: Iterable[Resource]) -> list[Resource]:
    """The resources, machines with their list price where the catalogue has one."""
    found = list(resources)
    types = {(r.cloud, r.instance_type) for r in found if r.instance_type and r.price_hour_usd is None}
    prices = _prices({(cloud, name) for cloud, name in types if name}) if types else {}
    return [replace(r, price_hour_usd=r.price_hour_usd or _price(r, prices)) for r in found]


def _price(resource: Resource, prices: Prices) -> Decimal | None:
    if resource.instance_type is None or resource.market is None:
        return None
    return prices.get((resource.cloud, resource.region, resource.instance_type, resource.market))


def _prices(types: set[tuple[str, str]]) -> Prices:
    found: dict[tuple[str, str, str, Market], Decimal] = {}
    with open_index() as index:
        for offer in index.offers(OfferFilter(types=types)):
            key = (offer.cloud, offer.region, offer.instance_type, offer.market)
            if offer.price_hour_usd is not None:
                found[key] = max(found.get(key, Decimal(0)), offer.price_hour_usd)
    return found
