from __future__ import annotations

from decimal import Decimal

import pytest

from support.fake_gcp import FakeGcp
from support.offers import offer
from trainrig.clouds.base import Account
from trainrig.clouds.gcp import quota as gcp_quota
from trainrig.model.offer import Market, Offer
from trainrig.model.quota import QuotaNeed

BASE = "/compute/v1/projects/proj-1"
INFOS = "/v1/projects/proj-1/locations/global/services/compute.googleapis.com/quotaInfos"


def gcp(gpu: str | None, market: Market = Market.ON_DEMAND, count: int = 8) -> Offer:
    return offer(cloud="gcp", region="us-central1", gpu=gpu, gpu_count=count, market=market)


@pytest.fixture
def project(cloud: FakeGcp) -> FakeGcp:
    regional = [
        {"metric": "NVIDIA_A100_GPUS", "limit": 16.0, "usage": 8.0},
        {"metric": "PREEMPTIBLE_NVIDIA_A100_GPUS", "limit": 32.0, "usage": 0.0},
        {"metric": "NVIDIA_L4_GPUS", "limit": 4.0, "usage": 1.0},
        {"metric": "PREEMPTIBLE_NVIDIA_L4_GPUS", "limit": 0.0, "usage": 0.0},
    ]
    cloud.server.route("GET", f"{BASE}/regions/us-central1", {"name": "us-central1", "quotas": regional})
    everywhere = [{"metric": "GPUS_ALL_REGIONS", "limit": 24.0, "usage": 9.0}]
    cloud.server.route("GET", BASE, {"name": "proj-1", "quotas": everywhere})
    h100 = {"dimensions": {"region": "us-central1", "gpu_family": "NVIDIA_H100"}, "details": {"value": "8"}}
    on_demand = {"dimensionsInfos": [{**h100, "applicableLocations": ["us-central1"]}]}
    cloud.server.route("GET", f"{INFOS}/GPUS-PER-GPU-FAMILY-per-project-region", on_demand)
    cloud.server.route("GET", f"{INFOS}/PREEMPTIBLE-GPUS-PER-GPU-FAMILY-per-project-region", {})
    return cloud


def read(account: Account, *offers: Offer) -> dict[str, tuple[Decimal | None, Decimal | None]]:
    return {f"{q.region}/{q.code}": (q.limit, q.used) for q in gcp_quota.quotas(account, offers)}


def test_need_is_counted_in_the_region_and_over_all_regions() -> None:
    assert gcp_quota.needed(gcp("A100", Market.SPOT), 2) == (
        QuotaNeed(code="PREEMPTIBLE_NVIDIA_A100_GPUS", amount=Decimal(16), region="us-central1"),
        QuotaNeed(code="GPUS_ALL_REGIONS", amount=Decimal(16), region="global"),
    )
    assert gcp_quota.needed(gcp(None, count=0), 2) == ()


def test_regional_metric_and_global_metric(project: FakeGcp, account: Account) -> None:
    assert read(account, gcp("A100"), gcp("A100", Market.SPOT)) == {
        "us-central1/NVIDIA_A100_GPUS": (Decimal(16), Decimal(8)),
        "us-central1/PREEMPTIBLE_NVIDIA_A100_GPUS": (Decimal(32), Decimal(0)),
        "global/GPUS_ALL_REGIONS": (Decimal(24), Decimal(9)),
    }


def test_spot_without_preemptible_quota_draws_on_the_standard_one(project: FakeGcp, account: Account) -> None:
    assert read(account, gcp("L4", Market.SPOT))["us-central1/PREEMPTIBLE_NVIDIA_L4_GPUS"] == (Decimal(4), Decimal(1))


def test_family_quota_counts_machines_also_when_stopped(project: FakeGcp, account: Account) -> None:
    gpus = [{"acceleratorType": ".../nvidia-h100-80gb", "acceleratorCount": 1}]
    for name, status in (("one", "RUNNING"), ("two", "TERMINATED")):
        project.add("zones/us-central1-a", "instances", name=name, status=status, guestAccelerators=gpus)
    assert read(account, gcp("H100"))["us-central1/GPUS_PER_GPU_FAMILY:NVIDIA_H100"] == (Decimal(8), Decimal(2))


def test_family_without_a_limit_is_unknown(project: FakeGcp, account: Account) -> None:
    found = read(account, gcp("B200"))["us-central1/GPUS_PER_GPU_FAMILY:NVIDIA_B200"]
    assert found[0] is None


def test_nothing_is_asked_for_machines_without_gpus(cloud: FakeGcp, account: Account) -> None:
    assert read(account, gcp(None, count=0)) == {}
    assert cloud.server.seen == []
