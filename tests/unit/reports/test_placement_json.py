from __future__ import annotations

import json

from support.offers import offer, placed
from trainrig.model.offer import Market
from trainrig.reports.placement_json import from_document, lines, price_text, to_document


def test_a_document_carries_the_whole_placement() -> None:
    placement = placed(
        [offer("2.4655", zone="use1-az1"), offer("30", region="us-east-2", market=Market.SPOT), offer(gpu=None)]
    )

    document = json.loads(json.dumps(to_document(placement)))

    assert from_document(document) == placement
    assert document["schema"] == "trainrig.placement/1"
    assert document["chosen"]["price_hour_usd"] == "2.4655"
    assert document["chosen"]["expected_cost_usd"] == "24.66"
    assert document["rejections"][0]["code"] == "gpu_mismatch"


def test_prices_keep_their_digits_and_have_at_least_two() -> None:
    from decimal import Decimal

    assert [price_text(Decimal(p)) for p in ("3", "98.320", "2.465500", "1E+1")] == ["3.00", "98.32", "2.4655", "10.00"]


def test_lines_are_the_same_document() -> None:
    for offers in ([offer("1"), offer(gpu="L4"), offer(gpu="T4")], [offer("1")], []):
        placement = placed(offers)

        assert json.loads("".join(lines(placement))) == to_document(placement)
