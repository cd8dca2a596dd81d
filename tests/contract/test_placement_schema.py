"""data/schemas/placement-1.json says what `explain --format json` prints."""

from __future__ import annotations

import json
from copy import deepcopy
from decimal import Decimal
from typing import Any

import jsonschema
import pytest

from support.offers import job, offer, placed
from trainrig import assets
from trainrig.model.job import Mount
from trainrig.model.offer import Market
from trainrig.model.placement import RejectionCode
from trainrig.reports.placement_json import to_document

SCHEMA = json.loads(assets.data("schemas/placement-1.json").read_text())


def document() -> dict[str, Any]:
    """A placement with everything in it: fallbacks, rejections with and without a price, warnings, a break-even."""

    data = Mount(target="/data", source="s3://bucket/data", size_gb=Decimal(150))
    offers = [
        offer("10", cloud="gcp"),
        offer("11"),
        offer("3", market=Market.SPOT),
        offer(None, zone="z"),
        offer(gpu=None, gpu_count=0, gpu_memory_gib=None),
    ]
    return to_document(placed(offers, job(mounts=(data,))))


@pytest.mark.parametrize("found", [document(), to_document(placed([]))], ids=["full", "nothing fits"])
def test_documents_are_what_the_schema_says(found: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(found, SCHEMA)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.pop("warnings"),
        lambda d: d.update(more=1),
        lambda d: d["chosen"].update(expected_cost_usd=10.5),
        lambda d: d["chosen"]["parts"].pop("egress_usd"),
        lambda d: d["rejections"][0].update(code="dear"),
        lambda d: d["fallbacks"][0].update(price_hour_usd=None),
    ],
)
def test_the_schema_refuses_what_is_not_one(spoil: Any) -> None:
    found = deepcopy(document())
    spoil(found)

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, SCHEMA)


def test_the_rejection_codes_are_the_closed_list() -> None:
    listed = SCHEMA["properties"]["rejections"]["items"]["properties"]["code"]["enum"]

    assert listed == [code.value for code in RejectionCode]


def test_the_parts_add_up_to_the_cost() -> None:

    found = document()
    for candidate in (found["chosen"], *found["fallbacks"]):
        assert sum(map(Decimal, candidate["parts"].values())) == Decimal(candidate["expected_cost_usd"])
