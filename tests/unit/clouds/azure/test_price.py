from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from support.loopback import Loopback, Request
from support.rigs import offer
from trainrig.clouds.azure.price import price
from trainrig.clouds.base import Account
from trainrig.model.offer import Market


def test_one_size_is_asked_for_and_each_market_has_its_price(azure: Loopback, account: Account) -> None:
    def page(request: Request) -> Any:
        wanted = request.query["$filter"]
        assert "armRegionName eq 'eastus' and armSkuName eq 'Standard_NC24ads_A100_v4'" in wanted
        row = {"armSkuName": "Standard_NC24ads_A100_v4", "productName": "Virtual Machines", "unitOfMeasure": "1 Hour"}
        return {
            "Items": [
                {**row, "skuName": "NC24ads A100 v4", "retailPrice": 3.673},
                {**row, "skuName": "NC24ads A100 v4 Spot", "retailPrice": 0.5143},
            ]
        }

    azure.route("GET", "/retail", page)
    spot = offer(
        cloud="azure", region="eastus", zone=None, instance_type="Standard_NC24ads_A100_v4", market=Market.SPOT
    )
    assert price(account, spot) == Decimal("0.5143")
    assert price(account, replace(spot, market=Market.RESERVED)) == Decimal("3.673")
