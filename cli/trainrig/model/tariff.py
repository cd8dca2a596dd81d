"""What a cloud charges beside the machine itself, and how often it takes spot machines back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from trainrig.model.offer import Market


@dataclass(frozen=True, kw_only=True, slots=True)
class Tier:
    """A step of a staircase of prices: what a GB costs up to a volume a month."""

    up_to_gb: Decimal | None  # None: without end
    usd_per_gb: Decimal


@dataclass(frozen=True, kw_only=True, slots=True)
class Hazard:
    """Preemptions that a running spot rig must expect in an hour."""

    per_hour: Decimal
    source: str  # who measured it, or that it is an assumption
    gpu: str | None = None  # None: all others


ASSUMED_HAZARD = Hazard(
    per_hour=Decimal("0.10"),
    source="assumed: one in ten hours, inside the 0.003 to 1.8 an hour measured on GPU spot traces",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tariff:
    """clouds/<name>/tariff.py. Traffic into a cloud is free everywhere, so only the way out has prices."""

    internet: tuple[Tier, ...] = ()  # out to the internet or another cloud; empty: free
    same_continent_usd_per_gb: Decimal = Decimal(0)  # between regions of this cloud
    other_continent_usd_per_gb: Decimal = Decimal(0)
    region_pairs_usd_per_gb: Mapping[frozenset[str], Decimal] = field(default_factory=dict)  # exceptions
    continents: tuple[tuple[str, str], ...] = ()  # (part of a region's name, continent); the first match wins
    schemes: tuple[str, ...] = ()  # URL schemes of this cloud's object store
    hazards: tuple[Hazard, ...] = ()
    setup_minutes: Decimal = Decimal(10)  # from the first API call to the first training step
    free: bool = False  # a price of zero is a price here
    opt_in_zones: str = ""  # pattern of zones that an account must have asked for before it can use them
    scatters_nodes: bool = False  # True: nodes of an offer without zone may lie in several zones of the region

    def hazard(self, gpu: str | None) -> Hazard:
        for wanted in (gpu, None):
            for h in self.hazards:
                if h.gpu == wanted:
                    return h
        return ASSUMED_HAZARD


@dataclass(frozen=True, kw_only=True, slots=True)
class CloudCosts:
    """All that a candidate's bill needs to know of its cloud."""

    address_hour_usd: Decimal = Decimal(0)
    disk_gb_month_usd: Decimal = Decimal(0)
    markets: frozenset[Market] = frozenset(Market)  # on which trainrig can start machines there
    tariff: Tariff = field(default_factory=Tariff)
