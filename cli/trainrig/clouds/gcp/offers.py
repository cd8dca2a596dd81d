"""What Google Cloud sells now: machine types with GPUs, the zones that have them, and their prices part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from trainrig.catalog.gcp_machines import N1
from trainrig.clouds.base import Account
from trainrig.clouds.gcp import skus
from trainrig.clouds.gcp.session import pages, rest
from trainrig.model.clock import utc_now
from trainrig.model.offer import Market, Offer

SOURCE = "gcp:api"

# Accelerator type -> (the catalogue's name, GiB of one GPU).
GPUS = {
    "nvidia-tesla-t4": ("T4", 16),
    "nvidia-tesla-p4": ("P4", 8),
    "nvidia-tesla-p100": ("P100", 16),
    "nvidia-tesla-v100": ("V100", 16),
    "nvidia-l4": ("L4", 24),
    "nvidia-tesla-a100": ("A100", 40),
    "nvidia-a100-80gb": ("A100-80GB", 80),
    "nvidia-h100-80gb": ("H100", 80),
    "nvidia-h100-mega-80gb": ("H100-MEGA", 80),
    "nvidia-h200-141gb": ("H200", 141),
    "nvidia-b200": ("B200", 180),
}
# Of the fifty thousand machine types of all zones, those that have or take a GPU.
FAMILIES = 'name eq "(a2|a3|a4|g2|n1-highmem)-.*"'
# Local disk that comes with the type and is billed with it (cloud.google.com/compute/docs/gpus, bundled Local SSD).
BUNDLED_DISK_GB_PER_GPU = {
    "a2-ultragpu": 375,
    "a3-highgpu": 750,
    "a3-megagpu": 750,
    "a3-ultragpu": 1500,
    "a4-highgpu": 1500,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """A machine type in one zone, with the GPUs that it has or takes."""

    zone: str
    type: str
    vcpus: int
    memory_gib: float
    accelerator: str
    gpu_count: int

    @property
    def region(self) -> str:
        return self.zone.rpartition("-")[0]

    @property
    def local_disk_gb(self) -> int:
        return BUNDLED_DISK_GB_PER_GPU.get(self.type.rpartition("-")[0], 0) * self.gpu_count


def offers(account: Account) -> Iterator[Offer]:
    now = utc_now()
    table = skus.prices(billing_skus(account))
    for machine in machines(account):
        if account.regions and machine.region not in account.regions:
            continue
        for market in (Market.ON_DEMAND, Market.SPOT):
            yield _offer(machine, market, table, now)


def _offer(machine: Machine, market: Market, table: skus.Prices, now: datetime) -> Offer:
    gpu, gpu_memory_gib = GPUS[machine.accelerator]
    return Offer(
        cloud="gcp",
        region=machine.region,
        zone=machine.zone,
        instance_type=machine.type,
        gpu=gpu,
        gpu_count=machine.gpu_count,
        gpu_memory_gib=gpu_memory_gib,
        vcpus=machine.vcpus,
        memory_gib=machine.memory_gib,
        market=market,
        price_hour_usd=skus.machine_price(
            table,
            machine_type=machine.type,
            region=machine.region,
            market=market,
            vcpus=machine.vcpus,
            memory_gib=Decimal(str(machine.memory_gib)),
            gpu=machine.accelerator,
            gpu_count=machine.gpu_count,
            local_disk_gb=machine.local_disk_gb,
        ),
        captured_at=now,
        source=SOURCE,
        local_disk_gb=machine.local_disk_gb,
    )


def machines(account: Account) -> Iterator[Machine]:
    """GPU machine types as such, and N1 types joined with the accelerators that their zone has."""
    accelerators = {(scope.removeprefix("zones/"), item.name) for scope, item in pages(account, "AcceleratorTypes")}
    by_name = {name: accelerator for accelerator, (name, _) in GPUS.items()}
    for scope, item in pages(account, "MachineTypes", filter=FAMILIES):
        zone = scope.removeprefix("zones/")
        for accelerator, count in _gpus(item, by_name):
            if accelerator in GPUS and (zone, accelerator) in accelerators:
                yield Machine(
                    zone=zone,
                    type=item.name,
                    vcpus=item.guest_cpus,
                    memory_gib=item.memory_mb / 1024,
                    accelerator=accelerator,
                    gpu_count=count,
                )


def _gpus(item: Any, by_name: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """(accelerator type, count) that a machine type has, or that an N1 type takes."""
    for gpu in item.accelerators:
        yield gpu.guest_accelerator_type, gpu.guest_accelerator_count
    for name, count in N1.get(item.name, ()):
        yield by_name[name], count


def billing_skus(account: Account) -> Iterator[dict[str, object]]:
    """Every SKU of Compute Engine, about 40,000, 5,000 a page."""
    url = f"https://cloudbilling.googleapis.com/v1/services/{skus.COMPUTE_SERVICE}/skus"
    token = ""
    while True:
        page = rest(account, "GET", url, query={"pageSize": "5000", "currencyCode": "USD", "pageToken": token})
        yield from page.get("skus", [])
        token = page.get("nextPageToken", "")
        if not token:
            return
