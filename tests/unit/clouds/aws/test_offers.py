from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from unittest.mock import Mock

import pytest

from support.loopback import Loopback, Reply, Request
from trainrig.clouds.aws import offers as aws_offers
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed
from trainrig.model.offer import Market


def product(region: str, instance_type: str, usd: str, unit: str = "Hrs") -> str:
    dimension = {"unit": unit, "pricePerUnit": {"USD": usd}}
    return json.dumps(
        {
            "product": {"attributes": {"regionCode": region, "instanceType": instance_type}},
            "terms": {"OnDemand": {"T": {"priceDimensions": {"D": dimension}}}},
        }
    )


def price_list(loopback: Loopback, *products: str) -> None:
    """GetProducts in two pages, as the real one answers."""

    def answer(request: Request) -> Any:
        assert request.headers["X-Amz-Target"] == "AWSPriceListService.GetProducts"
        if "NextToken" in request.body:
            return {"PriceList": list(products[1:])}
        return {"PriceList": list(products[:1]), "NextToken": "more"}

    loopback.route("POST", "/", answer)


def test_offers_join_types_zones_and_prices(account: Account, loopback: Loopback) -> None:
    price_list(
        loopback,
        product("us-east-1", "p4d.24xlarge", "21.9576"),
        product("us-east-1", "g4dn.xlarge", "0.0000000000"),
        product("eu-west-1", "g4dn.2xlarge", "0.838"),
    )
    found = list(aws_offers.offers(account))

    def priced(instance_type: str, market: Market) -> set[Decimal | None]:
        return {o.price_hour_usd for o in found if o.instance_type == instance_type and o.market is market}

    one = next(o for o in found if o.instance_type == "p4d.24xlarge" and o.market is Market.ON_DEMAND)
    assert (one.gpu, one.gpu_count, one.gpu_memory_gib, one.vcpus) == ("A100", 8, 40, 96)
    assert one.zone is not None
    assert one.zone.startswith("use1-az")
    assert (one.region, one.source) == ("us-east-1", "aws:api")
    assert priced("p4d.24xlarge", Market.ON_DEMAND) == {Decimal("21.9576")}
    assert None not in priced("p4d.24xlarge", Market.SPOT) != set()
    # zero is a placeholder, and another region's price is another region's
    assert priced("g4dn.xlarge", Market.ON_DEMAND) == priced("g4dn.2xlarge", Market.ON_DEMAND) == {None}
    assert {o.gpu for o in found if o.instance_type == "p3dn.24xlarge"} == {"V100-32GB"}


def test_every_region_of_the_account_is_asked(account: Account, loopback: Loopback) -> None:
    price_list(loopback, product("us-east-1", "g4dn.xlarge", "0.526"), product("us-west-2", "g4dn.xlarge", "0.526"))
    both = Account(cloud="aws", regions=("us-east-1", "us-west-2"))
    assert {o.region for o in aws_offers.offers(both)} == {"us-east-1", "us-west-2"}


def test_refusal_carries_the_words_of_aws(account: Account, loopback: Loopback) -> None:
    loopback.route(
        "POST", "/", Reply(status=400, body={"__type": "AccessDeniedException", "message": "no pricing:GetProducts"})
    )
    with pytest.raises(CommandFailed, match="AccessDeniedException: no pricing:GetProducts"):
        list(aws_offers.offers(account))


@pytest.mark.parametrize(
    ("name", "memory_gib", "expected"),
    [
        ("A100", 40, "A100"),
        ("A100", 80, "A100-80GB"),
        ("V100", 16, "V100"),
        ("V100", 32, "V100-32GB"),
        ("H100", 80, "H100"),
        ("Radeon Pro V520", 8, "Radeon-Pro-V520"),
    ],
)
def test_gpu_name_tells_memory_sizes_apart(name: str, memory_gib: float, expected: str) -> None:
    assert aws_offers.gpu_name(name, memory_gib) == expected


def test_newest_spot_price_wins() -> None:
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    ec2 = Mock()
    ec2.describe_availability_zones.return_value = {
        "AvailabilityZones": [{"ZoneName": "us-east-1a", "ZoneId": "use1-az6"}]
    }

    def row(price: str, when: datetime, zone: str = "us-east-1a") -> dict[str, Any]:
        return {"InstanceType": "p5.48xlarge", "AvailabilityZone": zone, "SpotPrice": price, "Timestamp": when}

    ec2.get_paginator.return_value.paginate.return_value = [
        {"SpotPriceHistory": [row("17.5", late), row("12.0", early), row("9", late, "us-east-1z"), row("free", late)]}
    ]
    assert aws_offers.spot_prices(ec2, ["p5.48xlarge"], late) == {("p5.48xlarge", "use1-az6"): Decimal("17.5")}
