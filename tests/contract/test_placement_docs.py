"""docs/placement.md names every code and flag that a placement can carry, and the tariffs as they are."""

from __future__ import annotations

import re
from pathlib import Path

from trainrig import assets
from trainrig.catalog import quality, snapshot
from trainrig.clouds import registry
from trainrig.model.placement import RejectionCode

PAGE = (Path(__file__).parents[2] / "docs" / "placement.md").read_text()
WORDS = set(re.findall(r"`([a-z_]+)`", PAGE))


def test_every_rejection_code_is_explained() -> None:
    assert {code.value for code in RejectionCode} <= WORDS


def test_every_flag_of_a_price_is_explained() -> None:
    assert {*quality.REFUSED, *quality.KEPT} <= WORDS
    known = sum(quality.OTHER_SKU in o.flags for o in snapshot.parse(assets.data("offers.csv").read_text()))
    assert f"the snapshot knows {known} of these" in PAGE


def test_the_staircases_are_those_of_the_tariffs() -> None:
    for cloud in ("aws", "gcp", "azure"):
        tariff = registry.tariff(cloud)
        [row] = [line for line in PAGE.splitlines() if line.startswith(f"| {cloud} ")]
        _, _, internet, regions, _ = row.split("|")
        assert re.findall(r"0\.\d+", internet) == [str(t.usd_per_gb) for t in tariff.internet if t.usd_per_gb]
        assert f"{tariff.same_continent_usd_per_gb} on a continent" in regions
        assert f"{tariff.other_continent_usd_per_gb} beyond" in regions
