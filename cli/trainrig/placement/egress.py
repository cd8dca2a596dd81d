"""What it costs to bring data to where the machines are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from trainrig.model.job import Job
from trainrig.model.tariff import CloudCosts, Tariff, Tier


@dataclass(frozen=True, kw_only=True, slots=True)
class Data:
    """Bytes that a job reads, and where they lie."""

    url: str
    cloud: str | None  # None: not in a cloud that we know
    region: str | None  # None: not declared
    size_gb: Decimal | None  # None: not declared


def declared(job: Job, costs: Mapping[str, CloudCosts]) -> tuple[Data, ...]:
    """The job's mounts that lie in an object store, and what else it reads from one. Local paths and buckets to be made
    cost no egress."""
    mounted = tuple(
        Data(url=m.source, cloud=cloud_of(m.source, costs), region=m.region, size_gb=m.size_gb)
        for m in job.mounts
        if m.source and "://" in m.source and not m.source.startswith("file://")
    )
    read = tuple(
        Data(url=url, cloud=cloud_of(url, costs), region=None, size_gb=gb) for url, gb in sorted(job.inputs.items())
    )
    return mounted + read


def cloud_of(url: str, costs: Mapping[str, CloudCosts]) -> str | None:
    scheme = url.partition("://")[0].lower()
    return next((c for c in sorted(costs) if scheme in costs[c].tariff.schemes), None)


def apart(data: Data, cloud: str, region: str) -> bool:
    """Whether reading `data` from there crosses a border that is charged for."""
    if data.cloud is None:
        return False
    return data.cloud != cloud or (data.region is not None and data.region != region)


def price(
    what: Sequence[Data],
    copies: Decimal,
    cloud: str,
    region: str,
    costs: Mapping[str, CloudCosts],
    flat: Decimal | None = None,
) -> Decimal:
    """Dollars for moving data to a region, `copies` times. Data of undeclared size counts nothing.

    `flat` is the job's own price for a GB, instead of the tariff. What leaves one cloud climbs one staircase together.
    """
    total = Decimal(0)
    leaving: dict[str, Decimal] = {}
    for data in what:
        if data.size_gb is None or data.cloud is None or not apart(data, cloud, region):
            continue
        gb = data.size_gb * copies
        if flat is not None:
            total += flat * gb
        elif data.cloud == cloud and data.region is not None:
            total += between_regions(costs[cloud].tariff, data.region, region) * gb
        else:
            leaving[data.cloud] = leaving.get(data.cloud, Decimal(0)) + gb
    return total + sum((staircase(costs[c].tariff.internet, gb) for c, gb in leaving.items()), Decimal(0))


def between_regions(tariff: Tariff, here: str, there: str) -> Decimal:
    pair = tariff.region_pairs_usd_per_gb.get(frozenset((here, there)))
    if pair is not None:
        return pair
    if continent(tariff, here) == continent(tariff, there):
        return tariff.same_continent_usd_per_gb
    return tariff.other_continent_usd_per_gb


def continent(tariff: Tariff, region: str) -> str:
    return next((name for part, name in tariff.continents if part in region), region)


def staircase(tiers: Sequence[Tier], gb: Decimal) -> Decimal:
    """Each GB at the price of the step that it falls on."""
    total, below = Decimal(0), Decimal(0)
    for tier in tiers:
        end = gb if tier.up_to_gb is None else min(gb, tier.up_to_gb)
        if end > below:
            total += (end - below) * tier.usd_per_gb
            below = end
    return total
