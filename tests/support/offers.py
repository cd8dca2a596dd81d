"""Offers, jobs and environments for placement tests: round numbers, so that bills can be checked by hand."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.job import GpuRequest, Job, ResourceOption
from trainrig.model.offer import Market, Offer
from trainrig.model.placement import Placement
from trainrig.model.tariff import CloudCosts, Hazard, Tariff, Tier
from trainrig.placement.decide import decide

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
CAPTURED = datetime(2026, 6, 1, tzinfo=UTC)

# No address, no disk price, no setup time, no preemptions: a candidate's bill is price x hours unless a test adds more.
PLAIN = CloudCosts(tariff=Tariff(setup_minutes=Decimal(0), hazards=(Hazard(per_hour=Decimal(0), source="a test"),)))
STAIRS = (
    Tier(up_to_gb=Decimal(100), usd_per_gb=Decimal(0)),
    Tier(up_to_gb=Decimal(10240), usd_per_gb=Decimal("0.09")),
    Tier(up_to_gb=None, usd_per_gb=Decimal("0.05")),
)
COSTS = {
    "aws": CloudCosts(
        tariff=Tariff(
            setup_minutes=Decimal(0),
            hazards=(Hazard(per_hour=Decimal(0), source="a test"),),
            internet=STAIRS,
            same_continent_usd_per_gb=Decimal("0.02"),
            other_continent_usd_per_gb=Decimal("0.08"),
            region_pairs_usd_per_gb={frozenset(("us-east-1", "us-east-2")): Decimal("0.01")},
            continents=(("us-", "america"), ("eu-", "europe"), ("ap-", "asia")),
            schemes=("s3",),
        )
    ),
    "gcp": PLAIN,
    "azure": PLAIN,
}


def offer(price: str | None = "10", **changes: Any) -> Offer:
    """A node with eight A100 in us-east-1, on demand."""
    fields: dict[str, Any] = {
        "cloud": "aws",
        "region": "us-east-1",
        "zone": None,
        "instance_type": "p4d.24xlarge",
        "gpu": "A100",
        "gpu_count": 8,
        "gpu_memory_gib": 40.0,
        "vcpus": 96.0,
        "memory_gib": 1152.0,
        "market": Market.ON_DEMAND,
        "price_hour_usd": None if price is None else Decimal(price),
        "captured_at": CAPTURED,
        "source": "test",
    }
    return Offer(**{**fields, **changes})


def option(**changes: Any) -> ResourceOption:
    fields: dict[str, Any] = {"gpus": (GpuRequest(name="A100", count=8),), "disk_gb": 0}
    return ResourceOption(**{**fields, **changes})


def job(**changes: Any) -> Job:
    """Ten hours of work on eight A100."""
    fields: dict[str, Any] = {"name": "train", "options": (option(),), "expected_hours": Decimal(10)}
    return Job(**{**fields, **changes})


def environment(**changes: Any) -> Environment:
    fields: dict[str, Any] = {"name": "team", "clouds": tuple(CloudPolicy(cloud=c) for c in ("aws", "gcp", "azure"))}
    return Environment(**{**fields, **changes})


def placed(
    offers: Iterable[Offer], a_job: Job | None = None, an_environment: Environment | None = None, **more: Any
) -> Placement:
    return decide(a_job or job(), an_environment or environment(), offers, **{"now": NOW, "costs": COSTS, **more})


def codes(placement: Placement) -> dict[str, str]:
    """Rejection code by instance type and place."""
    return {f"{r.offer.instance_type}@{r.offer.place}": r.code.value for r in placement.rejections}
