"""Looks through the catalogue for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from difflib import get_close_matches

from trainrig.catalog import quality
from trainrig.catalog.query import OfferFilter
from trainrig.clouds import registry
from trainrig.errors import UsageError
from trainrig.lifecycle.place import open_index
from trainrig.model.offer import Offer
from trainrig.model.placement import CatalogStamp
from trainrig.spec.tables import did_you_mean
from trainrig.store.catalog_index import CatalogIndex
from trainrig.tools import proc

_OPTIONS = {
    "gpu_count": "the count in --gpu",
    "clouds": "--cloud",
    "regions": "--region",
    "market": "--market",
    "max_price_hour_usd": "--max-price",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """Offers by price a GPU, cheapest first, then by name; those without a price come last."""

    offers: tuple[Offer, ...]
    stamp: CatalogStamp
    without: Mapping[str, int] = field(default_factory=dict)  # where none is left: how many were without one filter


def list_offers(wanted: OfferFilter, now: datetime) -> Listing:
    """The offers that a filter admits, with their flags.

    Raises:
        UsageError: nothing is known of a cloud or a region that it names.
    """
    with open_index() as index:
        _check_names(index, wanted)
        found = quality.checked(index.offers(wanted.machines_only))
        stamp = index.stamp(now, wanted.clouds)
        found += computed(wanted, now)
        left = tuple(sorted((o for o in found if wanted.admits(o)), key=_by_price))
        return Listing(offers=left, stamp=stamp, without={} if left else _without(index, wanted))


def _check_names(index: CatalogIndex, wanted: OfferFilter) -> None:
    clouds = {*registry.names(), *(s.cloud for s in index.sources())}
    for cloud in wanted.clouds:
        if cloud not in clouds:
            raise UsageError(f"--cloud {cloud}: no such cloud", hint=did_you_mean(cloud, clouds))
    if not wanted.regions:
        return
    # what a cloud computes by itself lies in a region of the cloud's own name
    regions = clouds.union(*index.regions(index.machines()).values())
    for region in wanted.regions:
        if region not in regions:
            near = get_close_matches(region, sorted(regions), n=3, cutoff=0.5)
            hint = f"did you mean {', '.join(near)}?" if near else "trainrig offers lists them"
            raise UsageError(f"--region {region}: no offer is from there", hint=hint)


def _without(index: CatalogIndex, wanted: OfferFilter) -> dict[str, int]:
    """By option: the number of offers that there would be without it alone."""
    plain = OfferFilter()
    given = [name for name in _OPTIONS if getattr(wanted, name) != getattr(plain, name)]
    found = {}
    for name in given:
        relaxed = replace(wanted, **{name: getattr(plain, name)})
        found[_OPTIONS[name]] = sum(relaxed.admits(o) for o in index.offers(relaxed.machines_only))
    return found


def computed(wanted: OfferFilter, now: datetime) -> list[Offer]:
    """What clouds sell that know it themselves."""
    clouds = [c for c in registry.names() if registry.has(c, "computed_offers")]
    return [o for c in clouds for o in registry.computed_offers(c).offers(proc.run, now) if wanted.admits_machine(o)]


def _by_price(o: Offer) -> tuple[bool, Decimal, str, str, str, str, str]:
    each = Decimal(0) if o.price_hour_usd is None else o.price_hour_usd / max(o.gpu_count, 1)
    return (o.price_hour_usd is None, each, o.cloud, o.region, o.zone or "", o.instance_type, o.market.value)
