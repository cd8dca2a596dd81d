"""Makes a catalogue of the size of SkyPilot's AWS and GCP files: 80,880 offers, 2,688 of them with A100:8.

python tests/bench/catalogue.py TRAINRIG_HOME
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from trainrig import assets
from trainrig.model.offer import Market, Offer
from trainrig.store.catalog_index import CatalogIndex

REGIONS = {"aws": 28, "gcp": 24}
ZONES = 3
TYPES = {"aws": 310, "gcp": 200}  # x regions x zones x markets: what 47,890 and 30,039 rows come to
GPUS = (("T4", 1, 16), ("L4", 1, 24), ("A10G", 4, 24), ("A100", 8, 40), ("H100", 8, 80))
NAMED = {"aws": ("us-east-1", "us-west-2"), "gcp": ("us-central1",)}


def offers(cloud: str, now: datetime | None = None) -> Iterator[Offer]:
    """The same offers each time; one type in six has a GPU, as in the real files."""
    luck = random.Random(cloud)
    captured = now or datetime.now(UTC).replace(microsecond=0)
    regions = [*NAMED[cloud], *(f"{cloud}-region-{i}" for i in range(REGIONS[cloud] - len(NAMED[cloud])))]
    for number in range(TYPES[cloud]):
        gpu, count, memory = GPUS[number // 6 % len(GPUS)] if number % 6 == 0 else (None, 0, None)
        vcpus = 2 ** luck.randint(1, 7)
        base = Decimal(luck.randint(5, 500)) / 100 * max(count, 1)
        for region in regions:
            for zone in range(ZONES):
                for market in (Market.ON_DEMAND, Market.SPOT):
                    share = Decimal(luck.randint(25, 45)) / 100 if market is Market.SPOT else Decimal(1)
                    yield Offer(
                        cloud=cloud,
                        region=region,
                        zone=f"{region}-{zone}",
                        instance_type=f"{cloud}.type-{number}",
                        gpu=gpu,
                        gpu_count=count,
                        gpu_memory_gib=memory,
                        vcpus=vcpus,
                        memory_gib=vcpus * 4,
                        market=market,
                        price_hour_usd=(base * share).quantize(Decimal("0.0001")),
                        captured_at=captured,
                        source="made for a benchmark",
                    )


if __name__ == "__main__":
    with CatalogIndex.open(Path(sys.argv[1]), assets.data("offers.csv")) as index:
        for cloud in REGIONS:
            index.replace(cloud, "benchmark", offers(cloud))
