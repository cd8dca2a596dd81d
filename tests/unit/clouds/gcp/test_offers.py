from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from support.fake_gcp import FakeGcp, error
from support.loopback import Request
from trainrig.clouds.base import Account
from trainrig.clouds.gcp import offers as gcp_offers
from trainrig.errors import CommandFailed, CredentialsMissing
from trainrig.model.offer import Market

ZONE = "zones/us-central1-a"
SKUS = "/v1/services/6F81-5844-456A/skus"


def sku(description: str, nanos: int, group: str) -> dict[str, Any]:
    return {
        "description": description,
        "category": {"usageType": "OnDemand", "resourceGroup": group},
        "serviceRegions": ["us-central1"],
        "pricingInfo": [{"pricingExpression": {"usageUnit": "h", "tieredRates": [{"unitPrice": {"nanos": nanos}}]}}],
    }


@pytest.fixture
def catalogue(cloud: FakeGcp) -> FakeGcp:
    cloud.add(ZONE, "acceleratorTypes", name="nvidia-l4")
    cloud.add(ZONE, "acceleratorTypes", name="nvidia-tesla-t4")
    l4 = [{"guestAcceleratorType": "nvidia-l4", "guestAcceleratorCount": 1}]
    cloud.add(ZONE, "machineTypes", name="g2-standard-4", guestCpus=4, memoryMb=16384, accelerators=l4)
    cloud.add(ZONE, "machineTypes", name="n1-highmem-4", guestCpus=4, memoryMb=26624)
    cloud.add(ZONE, "machineTypes", name="e2-medium", guestCpus=2, memoryMb=4096)
    a3 = [{"guestAcceleratorType": "nvidia-h100-80gb", "guestAcceleratorCount": 8}]
    cloud.add(ZONE, "machineTypes", name="a3-highgpu-8g", guestCpus=208, memoryMb=1916928, accelerators=a3)

    def page(request: Request) -> Any:
        if request.query.get("pageToken") == "2":
            return {"skus": [sku("G2 Instance Ram running in Americas", 2_927_000, "RAM")]}
        return {
            "skus": [
                sku("Nvidia L4 GPU running in Americas", 560_040_000, "GPU"),
                sku("G2 Instance Core running in Americas", 24_988_000, "CPU"),
            ],
            "nextPageToken": "2",
        }

    cloud.server.route("GET", SKUS, page)
    return cloud


def test_offers_join_machines_accelerators_and_prices(catalogue: FakeGcp, account: Account) -> None:
    found = {(o.instance_type, o.market): o for o in gcp_offers.offers(account)}

    # e2 has no GPU; a3 is listed, but its GPU is not in the zone
    assert {name for name, _ in found} == {"g2-standard-4", "n1-highmem-4"}
    g2 = found["g2-standard-4", Market.ON_DEMAND]
    assert g2.price_hour_usd == Decimal("0.56004") + 4 * Decimal("0.024988") + 16 * Decimal("0.002927")
    assert (g2.region, g2.zone, g2.gpu, g2.gpu_count, g2.memory_gib) == ("us-central1", "us-central1-a", "L4", 1, 16)
    assert found["g2-standard-4", Market.SPOT].price_hour_usd is None
    assert found["n1-highmem-4", Market.ON_DEMAND].gpu == "T4"


def test_only_the_regions_of_the_account(catalogue: FakeGcp, account: Account) -> None:
    assert list(gcp_offers.offers(replace(account, regions=("europe-west4",)))) == []


def test_refusal_carries_the_words_of_google(cloud: FakeGcp, account: Account) -> None:
    cloud.server.route(
        "GET", SKUS, error(403, "accessNotConfigured", "Cloud Billing API has not been used in project 1")
    )
    with pytest.raises(CommandFailed, match=r"Error 403: .*has not been used in project 1"):
        list(gcp_offers.offers(account))


def test_no_credentials_says_how_to_log_in(account: Account, cloud: FakeGcp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json")
    with pytest.raises(CredentialsMissing) as caught:
        list(gcp_offers.offers(account))
    assert caught.value.hint == "gcloud auth application-default login"
