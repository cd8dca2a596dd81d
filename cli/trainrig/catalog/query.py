"""What of the catalogue somebody wants to see."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from decimal import Decimal

from trainrig.model.offer import Market, Offer


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine type of a cloud with the number of its offers: what hardware is checked on, once for all of them."""

    id: int
    cloud: str
    instance_type: str
    gpu: str | None
    gpu_count: int
    gpu_memory_gib: float | None
    vcpus: float
    memory_gib: float
    local_disk_gb: int
    offers: int


@dataclass(frozen=True, kw_only=True, slots=True)
class OfferFilter:
    """Fields that are None or empty do not filter."""

    clouds: Collection[str] = ()
    regions: Collection[str] = ()
    gpu: str | None = None  # canonical
    gpu_count: int | None = None
    types: Collection[tuple[str, str]] | None = None  # (cloud, instance type)
    market: Market | None = None
    max_price_hour_usd: Decimal | None = None

    def admits_machine(self, m: Machine | Offer) -> bool:
        return (
            (not self.clouds or m.cloud in self.clouds)
            and (self.gpu is None or m.gpu == self.gpu)
            and (self.gpu_count is None or m.gpu_count == self.gpu_count)
            and (self.types is None or (m.cloud, m.instance_type) in self.types)
        )

    def admits(self, offer: Offer) -> bool:
        """Whether an offer of an admitted machine is wanted too."""
        price = offer.price_hour_usd
        return (
            (not self.regions or offer.region in self.regions)
            and (self.market is None or offer.market is self.market)
            and (self.max_price_hour_usd is None or (price is not None and price <= self.max_price_hour_usd))
        )

    @property
    def machines_only(self) -> OfferFilter:
        """The same for all places and markets: what price quality is judged on."""
        return replace(self, regions=(), market=None, max_price_hour_usd=None)


EVERYTHING = OfferFilter()
