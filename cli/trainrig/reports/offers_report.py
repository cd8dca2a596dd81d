"""Offers as text, Markdown and the `trainrig.offers/1` document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from trainrig.catalog import quality
from trainrig.model.clock import iso
from trainrig.model.offer import Offer
from trainrig.model.placement import CatalogStamp
from trainrig.reports.placement_json import offer_document
from trainrig.reports.placement_text import price, where
from trainrig.reports.table import Row, table
from trainrig.reports.table import markdown as markdown_table

HEAD: Row = ("where", "machine", "GPUs", "vCPUs", "GiB", "market", "USD/h", "USD/GPU/h", "from", "")


class Listing(Protocol):
    @property
    def offers(self) -> tuple[Offer, ...]: ...
    @property
    def stamp(self) -> CatalogStamp: ...
    @property
    def without(self) -> Mapping[str, int]: ...


def document(listing: Listing) -> dict[str, Any]:
    stamp = listing.stamp
    return {
        "schema": "trainrig.offers/1",
        "catalog": {
            "digest": stamp.digest,
            "captured_at": None if stamp.captured_at is None else iso(stamp.captured_at),
            "age_hours": stamp.age_hours,
            "offers": stamp.offers,
        },
        "offers": [offer_document(o) for o in listing.offers],
    }


def text(listing: Listing, limit: int) -> str:
    if not listing.offers:
        return _nothing(listing)
    return "\n".join([*table([HEAD, *map(_row, listing.offers[:limit])], indent=""), *_footer(listing, limit)])


def markdown(listing: Listing, limit: int) -> str:
    if not listing.offers:
        return _nothing(listing)
    rows = [HEAD, *map(_row, listing.offers[:limit])]
    return "\n".join([*markdown_table(rows), "", *_footer(listing, limit)])


def _nothing(listing: Listing) -> str:
    more = [f"{n:,} without {option}" for option, n in listing.without.items() if n]
    return "no offer is like that" + (f"; there are {', or '.join(more)}" if more else "")


def _row(o: Offer) -> Row:
    each = "-" if o.price_hour_usd is None or not o.gpu_count else f"{o.price_hour_usd / o.gpu_count:.4f}"
    doubt = [f"not bought: {quality.REFUSED[f]}" for f in o.flags if f in quality.REFUSED]
    return (
        where(o),
        o.instance_type,
        f"{o.gpu}:{o.gpu_count}" if o.gpu else "-",
        f"{o.vcpus:g}",
        f"{o.memory_gib:g}",
        o.market.value,
        price(o),
        each,
        f"{o.captured_at:%Y-%m-%d}",
        "; ".join([*doubt, *(quality.KEPT[f] for f in o.flags if f in quality.KEPT)]),
    )


def _footer(listing: Listing, limit: int) -> list[str]:
    more = len(listing.offers) - limit
    shown = f"{more:,} more: --limit N, or --format json for all. " if more > 0 else ""
    return [f"{shown}{len(listing.offers):,} of {listing.stamp.offers:,} offers"]
