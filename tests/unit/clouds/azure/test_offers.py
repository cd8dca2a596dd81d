from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from support.loopback import Loopback, Reply, Request
from trainrig.clouds.azure import offers as azure_offers
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed, CredentialsMissing, PreflightFailed
from trainrig.model.offer import Market

SKUS = r"/subscriptions/[\w-]+/providers/Microsoft.Compute/skus"


def sku(
    name: str, *, location: str = "eastus", restrictions: Iterable[str] = (), **capabilities: str
) -> dict[str, Any]:
    return {
        "resourceType": "virtualMachines",
        "name": name,
        "locations": [location],
        "locationInfo": [{"location": location, "zones": ["1", "2"]}],
        "capabilities": [{"name": key, "value": value} for key, value in capabilities.items()],
        "restrictions": [
            {"type": kind, "values": [location], "reasonCode": "NotAvailableForSubscription"} for kind in restrictions
        ],
    }


def price(size: str, usd: float, *, suffix: str = "", product: str = "", **fields: Any) -> dict[str, Any]:
    return {
        "armSkuName": size,
        "skuName": f"{size.removeprefix('Standard_')}{suffix}",
        "productName": f"Virtual Machines {product}",
        "retailPrice": usd,
        "unitOfMeasure": "1 Hour",
        **fields,
    }


A100 = sku("Standard_NC24ads_A100_v4", vCPUs="24", MemoryGB="220", GPUs="1", LowPriorityCapable="True")
H100 = sku("Standard_ND96isr_H100_v5", vCPUs="96", MemoryGB="1900", GPUs="12", LowPriorityCapable="False")
PRICES = [
    price("Standard_NC24ads_A100_v4", 3.673),
    price("Standard_NC24ads_A100_v4", 0.5143, suffix=" Spot"),
    price("Standard_NC24ads_A100_v4", 0.7346, suffix=" Low Priority"),
    price("Standard_NC24ads_A100_v4", 4.777, product="NCads Windows"),
    price("Standard_NC24ads_A100_v4", 20000, reservationTerm="1 Year"),
]


def serve_prices(azure: Loopback, items: list[dict[str, Any]]) -> None:
    """Two pages, linked as the real list links them."""

    def page(request: Request) -> Any:
        if "second" in request.query:
            return {"Items": items[2:], "NextPageLink": None}
        assert "armRegionName eq 'eastus'" in request.query["$filter"]
        return {"Items": items[:2], "NextPageLink": f"{azure.url}/retail?second=1"}

    azure.route("GET", "/retail", page)


def test_offers_join_sizes_and_prices(azure: Loopback, account: Account) -> None:
    azure.route("GET", SKUS, {"value": [A100, H100, sku("Standard_D2s_v5", vCPUs="2")]})
    serve_prices(azure, PRICES)

    found = {(o.instance_type, o.market): o for o in azure_offers.offers(account)}

    assert found["Standard_NC24ads_A100_v4", Market.ON_DEMAND].price_hour_usd == Decimal("3.673")
    assert found["Standard_NC24ads_A100_v4", Market.SPOT].price_hour_usd == Decimal("0.5143")
    assert found["Standard_NC24ads_A100_v4", Market.SPOT].gpu == "A100-80GB-PCIe"
    h100 = found["Standard_ND96isr_H100_v5", Market.ON_DEMAND]
    # the API says 12; the size has 8
    assert (h100.gpu, h100.gpu_count, h100.price_hour_usd, h100.zone) == ("H100", 8, None, None)
    assert len(found) == 3


def test_size_closed_to_the_subscription_is_not_offered(azure: Loopback, account: Account) -> None:
    closed = sku("Standard_NC24ads_A100_v4", restrictions=["Location"], GPUs="1")
    one_zone = sku("Standard_NC48ads_A100_v4", restrictions=["Zone"], GPUs="2", vCPUs="48")
    azure.route("GET", SKUS, {"value": [closed, one_zone]})
    serve_prices(azure, [])
    assert {o.instance_type for o in azure_offers.offers(account)} == {"Standard_NC48ads_A100_v4"}


def test_refusal_carries_the_code_of_azure(azure: Loopback, account: Account) -> None:
    body = {"error": {"code": "AuthorizationFailed", "message": "The client 'c' does not have authorization"}}
    azure.route("GET", SKUS, Reply(status=403, body=body))
    with pytest.raises(CommandFailed, match="azure: AuthorizationFailed: The client 'c'"):
        list(azure_offers.offers(account))


def test_broken_price_list_fails_the_refresh(azure: Loopback, account: Account) -> None:
    azure.route("GET", SKUS, {"value": [A100]})
    azure.route("GET", "/retail", Reply(status=500, body={}))
    with pytest.raises(CommandFailed, match="retail prices of eastus"):
        list(azure_offers.offers(account))


def test_unreachable_price_list_is_a_network_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(azure_offers, "RETAIL_PRICES", "http://127.0.0.1:9/retail")
    with pytest.raises(PreflightFailed, match="no answer from"):
        azure_offers.retail_prices("eastus")


def test_no_subscription_is_said(account: Account) -> None:
    with pytest.raises(CredentialsMissing, match="no subscription"):
        list(azure_offers.offers(replace(account, settings={})))
