from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from support.offers import CAPTURED, NOW, offer
from trainrig import assets
from trainrig.catalog.query import OfferFilter
from trainrig.model.offer import Market
from trainrig.store.catalog_index import SHIPPED, CatalogIndex

HEAD = "cloud,region,zone,instance_type,gpu,gpu_count,gpu_memory_gib,vcpus,memory_gib,market,price_hour_usd,"
ROW = "aws,us-east-1,use1-az1,p4d.24xlarge,A100,8,40,96,1152,spot,7.88,2026-06-01,test,"


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    path = tmp_path / "offers.csv"
    path.write_text(f"{HEAD}captured_at,source,flags\n{ROW}\n")
    return path


def test_offers_come_back_as_they_went_in(tmp_path: Path, shipped: Path) -> None:
    mine = [
        offer("12.5"),
        offer(None, zone="use1-az2", market=Market.SPOT, flags=("other_sku",)),
        offer("0.1", instance_type="m7i.large", gpu=None, gpu_count=0, gpu_memory_gib=None, local_disk_gb=900),
    ]
    with CatalogIndex.open(tmp_path, shipped) as index:
        assert index.replace("aws", "aws:api", mine) == 3

    with CatalogIndex.open(tmp_path, shipped) as index:
        assert sorted(index.offers(), key=repr) == sorted(mine, key=repr)
        [source] = index.sources()
        assert (source.cloud, source.source, source.captured_at, source.offers) == ("aws", "aws:api", CAPTURED, 3)


def test_shipped_offers_serve_until_a_cloud_is_refreshed(tmp_path: Path, shipped: Path) -> None:
    with CatalogIndex.open(tmp_path, shipped) as index:
        assert [o.price_hour_usd for o in index.offers()] == [Decimal("7.88")]

    shipped.write_text(shipped.read_text().replace("7.88", "7.99"))
    with CatalogIndex.open(tmp_path, shipped) as index:
        assert [o.price_hour_usd for o in index.offers()] == [Decimal("7.99")]
        assert index.sources()[0].source == SHIPPED
        index.replace("aws", "aws:api", [offer("5")])

    shipped.write_text(shipped.read_text().replace("7.99", "8.88"))
    with CatalogIndex.open(tmp_path, shipped) as index:
        assert [o.price_hour_usd for o in index.offers()] == [Decimal(5)]


def test_a_refresh_that_fails_half_way_changes_nothing(tmp_path: Path, shipped: Path) -> None:
    with CatalogIndex.open(tmp_path, shipped) as index:
        before = list(index.offers()), index.stamp(NOW)
        with pytest.raises(ValueError, match="gcp"):
            index.replace("aws", "aws:api", [offer("5"), offer("6", cloud="gcp")])
        with pytest.raises(AttributeError):
            index.replace("aws", "aws:api", [offer("5", market="spot")])

        assert (list(index.offers()), index.stamp(NOW)) == before


def test_of_two_prices_for_one_thing_the_dearer_is_kept(tmp_path: Path, shipped: Path) -> None:
    with CatalogIndex.open(tmp_path, shipped) as index:
        index.replace("aws", "two", [offer("5"), offer("6"), offer(None)])

        assert [o.price_hour_usd for o in index.offers()] == [Decimal(6)]


def test_a_machine_that_takes_several_gpus_is_an_offer_with_each(tmp_path: Path, shipped: Path) -> None:
    n1: dict[str, Any] = {"cloud": "gcp", "instance_type": "n1-highmem-8"}
    with CatalogIndex.open(tmp_path, shipped) as index:
        index.replace("gcp", "gcp:api", [offer("1", gpu="T4", gpu_count=2, **n1), offer("3", gpu="V100", **n1)])

        assert {o.gpu for o in index.offers() if o.cloud == "gcp"} == {"T4", "V100"}


def test_a_filter_reads_what_it_admits(tmp_path: Path, shipped: Path) -> None:
    offers = [
        offer("10"),
        offer("11", region="us-west-2"),
        offer("4", market=Market.SPOT),
        offer("20", instance_type="p5.48xlarge", gpu="H100"),
        offer("3", instance_type="p4d.small", gpu_count=1),
    ]
    with CatalogIndex.open(tmp_path, shipped) as index:
        index.replace("aws", "x", offers)

        def prices(**fields: object) -> set[str]:
            return {str(o.price_hour_usd) for o in index.offers(OfferFilter(**fields))}  # type: ignore[arg-type]

        assert prices(gpu="A100", gpu_count=8) == {"10", "11", "4"}
        assert prices(gpu="A100", gpu_count=8, market=Market.ON_DEMAND, regions=["us-east-1"]) == {"10"}
        assert prices(max_price_hour_usd=Decimal(4)) == {"4", "3"}
        assert prices(clouds=["gcp"]) == set()
        assert prices(types={("aws", "p5.48xlarge")}) == {"20"}


def test_the_digest_is_that_of_the_content_whatever_the_order(tmp_path: Path, shipped: Path) -> None:
    offers = [offer("10"), offer("11", region="us-west-2")]
    digests = []
    for listed in (offers, offers[::-1], offers[:1]):
        with CatalogIndex.open(tmp_path, shipped) as index:
            index.replace("aws", "x", listed)
            digests.append(index.stamp(NOW).digest)

    assert digests[0] == digests[1] != digests[2]


def test_the_age_is_that_of_the_clouds_asked_about(tmp_path: Path, shipped: Path) -> None:
    with CatalogIndex.open(tmp_path, shipped) as index:
        index.replace("gcp", "x", [offer(cloud="gcp", captured_at=NOW)])

        assert index.stamp(NOW).age_hours == 12.0
        assert index.stamp(NOW, ["gcp"]).age_hours == 0.0
        assert index.stamp(NOW, ["local"]).age_hours is None


def test_a_home_that_cannot_be_written_still_has_the_shipped_offers(tmp_path: Path, shipped: Path) -> None:
    home = tmp_path / "file"
    home.write_text("not a directory")

    with CatalogIndex.open(home, shipped) as index:
        assert len(list(index.offers())) == 1


def test_a_file_of_another_version_is_made_anew(tmp_path: Path, shipped: Path) -> None:
    with CatalogIndex.open(tmp_path, shipped) as index:
        index.replace("gcp", "x", [offer(cloud="gcp")])
        index._db.execute("PRAGMA user_version = 99")

    with CatalogIndex.open(tmp_path, shipped) as index:
        assert [s.cloud for s in index.sources()] == ["aws"]


def test_the_shipped_file_fits_the_index(tmp_path: Path) -> None:
    with CatalogIndex.open(tmp_path, assets.data("offers.csv")) as index:
        assert index.stamp(NOW).offers == len(list(index.offers())) > 1000
