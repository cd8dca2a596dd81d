from __future__ import annotations

import importlib.util
from decimal import Decimal
from pathlib import Path

import pytest

from trainrig import assets
from trainrig.catalog import normalise, quality, snapshot
from trainrig.model.offer import Market, Offer

BUILD = Path(__file__).parents[3] / "scripts" / "snapshot" / "build.py"


@pytest.fixture(scope="module")
def shipped() -> list[Offer]:
    return quality.checked(snapshot.parse(assets.data("offers.csv").read_text()))


def find(offers: list[Offer], instance_type: str, place: str, market: Market) -> Offer:
    [found] = [o for o in offers if (o.instance_type, o.place, o.market) == (instance_type, place, market)]
    return found


def test_the_shipped_file_is_what_the_script_makes() -> None:
    spec = importlib.util.spec_from_file_location("build_snapshot", BUILD)
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)

    assert build.built() == assets.data("offers.csv").read_text()


def test_every_offer_says_where_and_when_and_what(shipped: list[Offer]) -> None:
    for o in shipped:
        assert o.source.startswith("skypilot-catalog v")
        assert o.captured_at.tzinfo is not None
        assert normalise.gpu(str(o.gpu)) is not None, o
        assert o.gpu_count >= 1


def test_known_faults_of_the_source_do_not_reach_a_buyer(shipped: list[Offer]) -> None:
    outlier = find(shipped, "p4d.24xlarge", "use1-az1", Market.SPOT)
    reservation = find(shipped, "a2-ultragpu-8g", "us-central1-a", Market.ON_DEMAND)

    assert outlier.price_hour_usd == Decimal("2.4655")
    assert quality.refusal(outlier)
    assert quality.refusal(reservation)
    assert find(shipped, "Standard_ND96isr_H100_v5", "eastus", Market.ON_DEMAND).gpu_count == 8
    assert not [o for o in shipped if o.instance_type.startswith("Standard_NV6ads")]


def test_parts_that_clouds_call_alike_are_told_apart(shipped: list[Offer]) -> None:
    gpus = {o.instance_type: o.gpu for o in shipped}

    assert gpus["p4d.24xlarge"] == "A100"
    assert gpus["p4de.24xlarge"] == "A100-80GB"
    assert gpus["Standard_NC24ads_A100_v4"] == "A100-80GB-PCIe"
    assert gpus["Standard_NC40ads_H100_v5"] == "H100-NVL"
    assert gpus["gpu_1x_h100_pcie"] == "H100-PCIe"
