"""gpuhunt's catalogue: one CSV a provider, one row a machine, place and market."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from trainrig.catalog.imported import Row, RowRefused, gpu_count, needed, number, price, text
from trainrig.catalog.normalise import gpu_of
from trainrig.model.offer import Market, Offer

COLUMNS = frozenset({"instance_name", "location", "price", "gpu_name", "gpu_count", "spot"})

# Its GPU names have no memory in them: the memory column tells the parts apart.
_BY_MEMORY = {
    ("A100", 80): "A100-80GB",
    ("V100", 32): "V100-32GB",
    ("H100", 94): "H100-NVL",
    ("H100NVL", 94): "H100-NVL",
}


def offers_of(row: Row, *, cloud: str, captured_at: datetime, source: str) -> Iterator[Offer]:
    """Raises RowRefused."""
    count = gpu_count(row, "gpu_count")
    name = text(row, "gpu_name")
    instance_type = needed(row, "instance_name")
    if name.startswith("tpu-") or text(row, "gpu_vendor") == "google":
        raise RowRefused("a TPU")
    if bool(name) != bool(count):
        raise RowRefused("a GPU without a count, or a count without a GPU")
    spot = needed(row, "spot").lower()
    if spot not in {"true", "false"}:
        raise RowRefused("spot is neither True nor False")
    found = price(row, "price")
    if found is None:
        raise RowRefused("no price")
    memory = number(row, "gpu_memory", default=0)
    place = needed(row, "location")
    yield Offer(
        cloud=cloud,
        # GCP rows name a zone, all others a region
        region=place.rpartition("-")[0] if cloud == "gcp" else place,
        zone=place if cloud == "gcp" else None,
        instance_type=instance_type,
        gpu=gpu_of(cloud, instance_type, _BY_MEMORY.get((name, int(memory)), name)) if name else None,
        gpu_count=count,
        gpu_memory_gib=memory or None,
        vcpus=number(row, "cpu", default=0),
        memory_gib=number(row, "memory", default=0),
        market=Market.SPOT if spot == "true" else Market.ON_DEMAND,
        price_hour_usd=found,
        captured_at=captured_at,
        source=source,
        local_disk_gb=int(number(row, "disk_size", default=0)),
    )
