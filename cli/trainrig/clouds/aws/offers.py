"""What AWS sells now: GPU types, the zones that have them, list prices and current spot prices."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

from trainrig.catalog.normalise import canonical
from trainrig.clouds.aws.session import client, regions, translated
from trainrig.clouds.base import Account
from trainrig.model.clock import utc_now
from trainrig.model.offer import Market, Offer

SOURCE = "aws:api"


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineType:
    """One GPU type as DescribeInstanceTypes tells it."""

    name: str
    gpu: str
    gpu_count: int
    gpu_memory_gib: float
    vcpus: int
    memory_gib: float
    local_disk_gb: int
    markets: tuple[Market, ...]


def offers(account: Account) -> Iterator[Offer]:
    """Asks every region of the account at once; a region that fails fails the refresh, so that the catalogue never
    loses a region silently. Zones are zone ids (`use1-az1`): zone names differ from account to account."""
    now = utc_now()
    with translated(account):
        prices = list_prices(account)
        with ThreadPoolExecutor(max_workers=8) as pool:
            for found in pool.map(partial(_region_offers, account, prices=prices, now=now), regions(account)):
                yield from found


def _region_offers(
    account: Account, region: str, *, prices: Mapping[tuple[str, str], Decimal], now: datetime
) -> list[Offer]:
    ec2 = client(account, "ec2", region)
    types = {t.name: t for t in machine_types(ec2)}
    if not types:
        return []
    spot = spot_prices(ec2, sorted(types), now)
    found = []
    for type_name, zone in zones_of(ec2, sorted(types)):
        machine = types[type_name]
        for market in machine.markets:
            price = spot.get((type_name, zone)) if market is Market.SPOT else prices.get((region, type_name))
            found.append(
                Offer(
                    cloud="aws",
                    region=region,
                    zone=zone,
                    instance_type=type_name,
                    gpu=machine.gpu,
                    gpu_count=machine.gpu_count,
                    gpu_memory_gib=machine.gpu_memory_gib,
                    vcpus=machine.vcpus,
                    memory_gib=machine.memory_gib,
                    market=market,
                    price_hour_usd=price,
                    captured_at=now,
                    source=SOURCE,
                    local_disk_gb=machine.local_disk_gb,
                )
            )
    return found


def machine_types(ec2: Any) -> Iterator[MachineType]:
    """GPU types of a region; slices of a GPU (g6f) are left out, since an offer counts whole GPUs."""
    families = [{"Name": "instance-type", "Values": ["g*", "p*"]}]  # all that have a GPU, and a tenth of the answer
    for page in ec2.get_paginator("describe_instance_types").paginate(Filters=families):
        for item in page["InstanceTypes"]:
            gpus = item.get("GpuInfo", {}).get("Gpus", [])
            if len(gpus) != 1 or int(gpus[0].get("Count", 0)) < 1 or gpus[0].get("GpuPartitionSize", 1) < 1:
                continue
            usage = item.get("SupportedUsageClasses", ["on-demand"])
            memory_gib = gpus[0]["MemoryInfo"]["SizeInMiB"] / 1024
            yield MachineType(
                name=item["InstanceType"],
                gpu=gpu_name(gpus[0]["Name"], memory_gib),
                gpu_count=int(gpus[0]["Count"]),
                gpu_memory_gib=memory_gib,
                vcpus=item["VCpuInfo"]["DefaultVCpus"],
                memory_gib=item["MemoryInfo"]["SizeInMiB"] / 1024,
                local_disk_gb=item.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
                markets=tuple(
                    market for market, word in ((Market.ON_DEMAND, "on-demand"), (Market.SPOT, "spot")) if word in usage
                ),
            )


def gpu_name(name: str, memory_gib: float) -> str:
    """EC2 calls both sizes of A100 and V100 alike; the catalogue does not."""
    if name == "A100" and memory_gib > 60:
        return "A100-80GB"
    if name == "V100" and memory_gib > 24:
        return "V100-32GB"
    return canonical(name)


def zones_of(ec2: Any, types: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(type, zone id) for every zone that has the type."""
    pages = ec2.get_paginator("describe_instance_type_offerings").paginate(
        LocationType="availability-zone-id", Filters=[{"Name": "instance-type", "Values": list(types)}]
    )
    for page in pages:
        for item in page["InstanceTypeOfferings"]:
            yield item["InstanceType"], item["Location"]


def spot_prices(ec2: Any, types: Sequence[str], now: datetime) -> dict[tuple[str, str], Decimal]:
    """(type, zone id) -> the newest spot price."""
    ids = {z["ZoneName"]: z["ZoneId"] for z in ec2.describe_availability_zones()["AvailabilityZones"]}
    pages = ec2.get_paginator("describe_spot_price_history").paginate(
        InstanceTypes=list(types), ProductDescriptions=["Linux/UNIX"], StartTime=now, EndTime=now
    )
    newest: dict[tuple[str, str], tuple[datetime, Decimal]] = {}
    for page in pages:
        for item in page["SpotPriceHistory"]:
            zone = ids.get(item["AvailabilityZone"])
            price = _money(item["SpotPrice"])
            if zone is None or price is None:
                continue
            key = (item["InstanceType"], zone)
            if key not in newest or newest[key][0] < item["Timestamp"]:
                newest[key] = (item["Timestamp"], price)
    return {key: price for key, (_, price) in newest.items()}


def list_prices(account: Account) -> dict[tuple[str, str], Decimal]:
    """(region, type) -> Linux on-demand price of shared tenancy. The price list answers for all regions at once."""
    wanted = {
        "instanceFamily": "GPU instance",
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "tenancy": "Shared",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
    }
    pages = (
        client(account, "pricing")
        .get_paginator("get_products")
        .paginate(
            ServiceCode="AmazonEC2",
            Filters=[{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()],
        )
    )
    found: dict[tuple[str, str], Decimal] = {}
    for page in pages:
        for text in page["PriceList"]:
            product = json.loads(text)
            attributes = product["product"]["attributes"]
            price = _on_demand(product.get("terms", {}).get("OnDemand", {}))
            if price is not None and "regionCode" in attributes:
                found[attributes["regionCode"], attributes["instanceType"]] = price
    return found


def _on_demand(terms: Mapping[str, Any]) -> Decimal | None:
    """The hourly rate of a product; zero is a placeholder (capacity blocks), not a price."""
    for term in terms.values():
        for dimension in term["priceDimensions"].values():
            price = _money(dimension["pricePerUnit"].get("USD", ""))
            if dimension.get("unit") == "Hrs" and price:
                return price
    return None


def _money(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None
