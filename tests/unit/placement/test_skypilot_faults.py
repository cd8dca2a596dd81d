"""Faults measured in another optimiser (SkyPilot 0.14.1) on real catalogue rows. None of them may occur here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from support.offers import COSTS, codes, job, offer, option, placed
from trainrig import assets
from trainrig.model.job import GpuRequest, Mount
from trainrig.model.offer import Market, Offer
from trainrig.store.catalog_index import CatalogIndex

SPOT = option(market=Market.SPOT)
EAST_WEST_CENTRAL = tuple(
    option(cloud=c, region=r, market=Market.SPOT)
    for c, r in (("aws", "us-east-1"), ("aws", "us-west-2"), ("gcp", "us-central1"))
)


@pytest.fixture
def shipped(tmp_path: Path) -> Iterator[list[Offer]]:
    with CatalogIndex.open(tmp_path, assets.data("offers.csv")) as index:
        yield list(index.offers())


def test_1_every_region_is_listed_and_every_rejection_has_a_reason(shipped: list[Offer]) -> None:
    placement = placed(shipped, job(options=EAST_WEST_CENTRAL))

    assert {(c.offer.cloud, c.offer.region) for c in placement.candidates} == {
        ("aws", "us-east-1"),
        ("aws", "us-west-2"),
        ("gcp", "us-central1"),
    }
    assert len(placement.candidates) + len(placement.rejections) == len(shipped)
    assert all(r.detail for r in placement.rejections)


def test_2_a_zone_at_a_third_of_its_siblings_does_not_win(shipped: list[Offer]) -> None:
    placement = placed(shipped, job(options=EAST_WEST_CENTRAL))

    assert placement.chosen is not None
    assert placement.chosen.offer.price_hour_usd == Decimal("7.8799")
    [outlier] = [
        r for r in placement.rejections if r.offer.zone == "use1-az1" and r.offer.price_hour_usd == Decimal("2.4655")
    ]
    assert outlier.code == "bad_price"
    placeholders = [r.offer for r in placement.rejections if "spot_equals_on_demand" in r.offer.flags]
    assert not [o for o in placeholders if o in [c.offer for c in placement.candidates]]


def test_3_on_demand_below_spot_is_not_the_cheapest(shipped: list[Offer]) -> None:
    eighty = option(gpus=(GpuRequest(name="A100-80GB", count=8),), cloud="gcp", region="us-central1")

    placement = placed(shipped, job(options=(eighty,)))

    assert {c.offer.market for c in placement.candidates} == {Market.SPOT}
    crossed = placed([offer("14.77"), offer("15.71", market=Market.SPOT)])
    assert crossed.chosen is None
    assert set(codes(crossed).values()) == {"bad_price"}


def test_4_a_cap_holds_for_each_concrete_offer_of_every_cloud(shipped: list[Offer]) -> None:
    capped = tuple(option(market=Market.SPOT, max_hourly_usd=Decimal(cap)) for cap in ("1", "5"))

    nothing = placed(shipped, job(options=capped[:1]))
    some = placed(shipped, job(options=capped[1:]))

    assert nothing.chosen is None
    assert {r.offer.cloud for r in nothing.rejections if r.code == "price_cap"} >= {"aws", "gcp"}
    assert some.candidates
    assert all((c.offer.price_hour_usd or 0) <= 5 for c in some.candidates)


def test_5_data_in_the_mounts_pulls(shipped: list[Offer]) -> None:
    leaving_gcp = replace(COSTS["gcp"].tariff, internet=COSTS["aws"].tariff.internet, schemes=("gs",))
    costs = {**COSTS, "gcp": replace(COSTS["gcp"], tariff=leaving_gcp)}

    def chosen(size_gb: str) -> str:
        big = Mount(target="/d", source="gs://big", size_gb=Decimal(size_gb))
        placement = placed(shipped, job(options=EAST_WEST_CENTRAL, mounts=(big,)), costs=costs)
        assert placement.chosen is not None
        return placement.chosen.offer.cloud

    assert chosen("10") == "aws"
    assert chosen("100000") == "gcp"


def test_5_regions_of_one_cloud_are_not_free_of_egress() -> None:
    data = Mount(target="/d", source="s3://big", size_gb=Decimal(5000), region="us-west-2")
    near, far = offer("10.50", region="us-west-2"), offer("10", region="us-east-1")

    # 5000 GB x 0.02 = 100 against 10 h x 0.50 = 5
    assert [c.offer.region for c in placed([near, far], job(mounts=(data,))).candidates] == ["us-west-2", "us-east-1"]
