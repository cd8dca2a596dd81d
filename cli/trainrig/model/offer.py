"""An offer: one machine type that can be bought in one place on one market, with its price."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum


class Market(StrEnum):
    SPOT = "spot"
    ON_DEMAND = "on_demand"
    RESERVED = "reserved"


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """One row of the catalogue. Prices are per machine and hour; `gpu` is a canonical name (catalog/normalise.py)."""

    cloud: str
    region: str
    zone: str | None  # None: the cloud prices and sells by region
    instance_type: str
    gpu: str | None  # None: a machine without a GPU
    gpu_count: int
    gpu_memory_gib: float | None  # of one GPU
    vcpus: float
    memory_gib: float
    market: Market
    price_hour_usd: Decimal | None  # None: offered, price unknown
    captured_at: datetime  # timezone-aware, when the source said so
    source: str
    local_disk_gb: int = 0
    flags: tuple[str, ...] = ()  # what is wrong with the price, catalog/quality.py

    @property
    def place(self) -> str:
        """`region`, or `zone` where the offer is zonal: for people."""
        return self.zone or self.region
