from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from support.rigs import offer
from trainrig.clouds.aws import price as aws_price
from trainrig.clouds.base import Account
from trainrig.model.offer import Market


def test_a_spot_price_is_that_of_the_zone_or_of_the_dearest(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {("p5.48xlarge", "use1-az6"): Decimal("17.5"), ("p5.48xlarge", "use1-az1"): Decimal(19)}
    monkeypatch.setattr(aws_price, "spot_prices", lambda _client, types, _now: found if types else {})
    spot = offer(cloud="aws", region="us-east-1", zone="use1-az6", instance_type="p5.48xlarge", market=Market.SPOT)
    assert aws_price.price(account, spot) == Decimal("17.5")
    assert aws_price.price(account, replace(spot, zone=None)) == Decimal(19)
    assert aws_price.price(account, replace(spot, zone="use1-az2")) is None
    assert aws_price.price(account, replace(spot, market=Market.ON_DEMAND)) is None


def test_moto_answers_the_real_call(account: Account) -> None:
    spot = offer(cloud="aws", region="us-east-1", zone=None, instance_type="p4d.24xlarge", market=Market.SPOT)
    assert (aws_price.price(account, spot) or 0) > 0
