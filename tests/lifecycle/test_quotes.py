"""What is asked before each attempt."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from support.loopback import serve
from support.rigs import candidate
from trainrig.clouds.azure import offers as azure_offers
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.quotes import quotes
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.events import Event, Progress
from trainrig.model.offer import Market

SIZE = "Standard_NC24ads_A100_v4"
AZURE = Environment(name="test", clouds=(CloudPolicy(cloud="azure"),))


def test_the_cloud_is_asked_each_time_and_the_catalogue_counts_when_it_is_silent(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = candidate(
        1, cloud="azure", region="eastus", zone=None, instance_type=SIZE, market=Market.SPOT, price_hour_usd=Decimal(9)
    )
    said: list[Event] = []
    quote = quotes(replace(context, observe=said.append), [chosen], AZURE)
    row = {"armSkuName": SIZE, "skuName": "NC24ads A100 v4 Spot", "unitOfMeasure": "1 Hour"}
    with serve() as server:
        monkeypatch.setattr(azure_offers, "RETAIL_PRICES", f"{server.url}/retail")
        prices = iter((0.5, 0.7))
        server.route("GET", "/retail", lambda _: {"Items": [{**row, "retailPrice": next(prices)}]})
        assert [quote(chosen.offer) for _ in range(2)] == [Decimal("0.5"), Decimal("0.7")]
    assert said == []
    catalogue = quote(chosen.offer)
    assert catalogue is not None
    assert catalogue not in {Decimal("0.5"), Decimal("0.7")}
    (event,) = said
    assert isinstance(event, Progress)
    assert "the catalogue's counts" in event.message
