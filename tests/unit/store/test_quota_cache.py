from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from support.offers import NOW
from trainrig import assets
from trainrig.model.offer import Market
from trainrig.model.quota import Quota
from trainrig.store import quota_cache
from trainrig.store.catalog_index import CatalogIndex

P = Quota(
    cloud="aws",
    region="us-east-1",
    code="L-417A185B",
    unit="vcpus",
    market=Market.ON_DEMAND,
    limit=Decimal(192),
    used=Decimal(96),
)


def test_what_a_cloud_said_last_is_known_for_a_day_and_its_limit_for_longer(tmp_path: Path) -> None:
    with CatalogIndex.open(tmp_path, assets.data("offers.csv")) as index:
        quota_cache.remember(index, [replace(P, limit=Decimal(8)), P, replace(P, code="x", limit=None)], NOW)

        assert quota_cache.known(index, NOW) == (P, replace(P, code="x", limit=None))
        assert quota_cache.known(index, NOW + timedelta(hours=25))[0] == replace(P, used=None)
