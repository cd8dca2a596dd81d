"""The placement: what was chosen, what comes next if it is not to be had, and why every other offer was not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from trainrig.model.offer import Offer


class RejectionCode(StrEnum):
    """Closed list, part of the JSON contract."""

    GPU_MISMATCH = "gpu_mismatch"
    GPU_COUNT = "gpu_count"
    MEMORY = "memory"
    CPUS = "cpus"
    DISK = "disk"
    INSTANCE_TYPE = "instance_type"
    CLOUD_NOT_ALLOWED = "cloud_not_allowed"
    REGION_NOT_ALLOWED = "region_not_allowed"
    ZONE_NOT_ALLOWED = "zone_not_allowed"
    MARKET_NOT_ALLOWED = "market_not_allowed"
    PRICE_CAP = "price_cap"
    MAX_COST = "max_cost"
    BUDGET = "budget"
    DEADLINE = "deadline"
    QUOTA = "quota"
    QUOTA_UNKNOWN = "quota_unknown"
    CREDITS = "credits"
    COOLDOWN = "cooldown"
    CLOUD_DISABLED = "cloud_disabled"
    NO_PRICE = "no_price"
    BAD_PRICE = "bad_price"
    STALE_PRICE = "stale_price"
    NO_IMAGE = "no_image"
    DRIVER_CUDA_MISMATCH = "driver_cuda_mismatch"
    MULTI_NODE_UNSUPPORTED = "multi_node_unsupported"
    FEATURE_UNSUPPORTED = "feature_unsupported"
    BEYOND_FALLBACKS = "beyond_fallbacks"  # fits, but the job asked for fewer fallbacks


@dataclass(frozen=True, kw_only=True, slots=True)
class CostParts:
    """The whole bill of a candidate, all nodes, from first boot to the last byte out."""

    compute_usd: Decimal
    disk_usd: Decimal
    network_usd: Decimal  # public addresses
    egress_usd: Decimal
    lost_work_usd: Decimal  # expected work done twice, and restarts
    setup_usd: Decimal  # boot and configure

    @property
    def total_usd(self) -> Decimal:
        return (
            self.compute_usd + self.disk_usd + self.network_usd + self.egress_usd + self.lost_work_usd + self.setup_usd
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """An offer that fits, scored for `nodes` nodes."""

    offer: Offer
    nodes: int
    expected_hours: Decimal
    parts: CostParts
    breakeven_hours: Decimal | None = None  # when data and compute sit apart: hours after which moving pays
    image: str | None = None
    account: str = ""  # which of the cloud's several accounts
    reasons: tuple[str, ...] = ()

    @property
    def expected_cost_usd(self) -> Decimal:
        return self.parts.total_usd


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejection:
    offer: Offer
    code: RejectionCode
    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """A warning of the placement: `code` is stable, `detail` is for people."""

    code: str
    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CatalogStamp:
    digest: str
    captured_at: datetime | None  # of the oldest offer that was considered
    age_hours: float | None
    offers: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Placement:
    job: str
    catalog: CatalogStamp
    chosen: Candidate | None  # None: unplaceable
    fallbacks: tuple[Candidate, ...]
    rejections: tuple[Rejection, ...]
    warnings: tuple[Notice, ...] = ()
    # Offers whose machine type alone rules them out, counted by code and not listed: a text report over 80,000 offers
    # does not load them. Empty in a complete placement.
    counted: Mapping[RejectionCode, int] = field(default_factory=dict)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """In the order in which they are tried."""
        return () if self.chosen is None else (self.chosen, *self.fallbacks)
