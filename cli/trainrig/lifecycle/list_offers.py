"""Looks through the catalogue for people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from trainrig.catalog import quality
from trainrig.catalog.query import OfferFilter
from trainrig.clouds import registry
from trainrig.lifecycle.place import open_index
from trainrig.model.offer import Offer
from trainrig.model.placement import CatalogStamp
from trainrig.tools import proc


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """Offers by price a GPU, cheapest first, then by name; those without a price come last."""

    offers: tuple[Offer, ...]
    stamp: CatalogStamp


def list_offers(wanted: OfferFilter, now: datetime) -> Listing:
    """The offers that a filter admits, with their flags."""
    with open_index() as index:
        found = quality.checked(index.offers(wanted.machines_only))
        stamp = index.stamp(now, wanted.clouds)
    found += computed(wanted, now)
    return Listing(offers=tuple(sorted((o for o in found if wanted.admits(o)), key=_by_price)), stamp=stamp)


def computed(wanted: OfferFilter, now: datetime) -> list[Offer]:
    """What clouds sell that know it themselves."""
    clouds = [c for c in registry.names() if registry.has(c, "computed_offers")]
    return [o for c in clouds for o in registry.computed_offers(c).offers(proc.run, now) if wanted.admits_machine(o)]


def _by_price(o: Offer) -> tuple[bool, Decimal, str, str, str, str, str]:
    each = Decimal(0) if o.price_hour_usd is None else o.price_hour_usd / max(o.gpu_count, 1)
    return (o.price_hour_usd is None, each, o.cloud, o.region, o.zone or "", o.instance_type, o.market.value)
