"""SkyPilot's hosted catalogue: one vms.csv a cloud. Its columns differ by cloud and version, so they go by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal, InvalidOperation

from trainrig.catalog.gcp_machines import N1, own_gpus
from trainrig.catalog.imported import Row, RowRefused, gpu_count, needed, number, price, text
from trainrig.catalog.normalise import gpu_of, nominal_memory_gib
from trainrig.catalog.quality import OTHER_SKU
from trainrig.model.offer import Market, Offer

COLUMNS = frozenset({"InstanceType", "AcceleratorName", "Price", "SpotPrice", "Region"})

# Azure sizes whose count is wrong there: the file says 12 GPUs, the size has 8.
_AZURE_COUNTS = {"Standard_ND96isr_H100_v5": 8, "Standard_ND96is_H100_v5": 8}
_AZURE_SHARES = re.compile(r"Standard_NV(6|12|18)ads_A10_v5")
_OTHER_SKU = "trainrig:other_sku"  # a column of our own: the on-demand price is another product's
_TOO_CHEAP = Decimal("0.75")  # of what the dearest region asks for the same GPU on demand
_MEMORY = re.compile(r"'SizeInMiB':\s*([\d.]+)")


def rows_of(rows: Iterable[tuple[int, Row]], cloud: str) -> Iterator[tuple[int, Row]]:
    """(line, row) with one row a whole machine."""
    return _joined(rows) if cloud == "gcp" else iter(rows)


def offers_of(row: Row, *, cloud: str, captured_at: datetime, source: str) -> Iterator[Offer]:
    """The on-demand and the spot offer of one machine; no offer on a market without a price.

    Raises:
        RowRefused
    """
    name = text(row, "AcceleratorName")
    count = gpu_count(row, "AcceleratorCount")
    instance_type = needed(row, "InstanceType") if not name.startswith("tpu") else ""
    if not instance_type:
        raise RowRefused("a TPU")
    if _AZURE_SHARES.fullmatch(instance_type):
        raise RowRefused("a share of a GPU")
    if bool(name) != bool(count):
        raise RowRefused("a GPU without a count, or a count without a GPU")
    gpu = gpu_of(cloud, instance_type, name) if name else None
    for market, column in ((Market.ON_DEMAND, "Price"), (Market.SPOT, "SpotPrice")):
        found = price(row, column)
        if found is not None:
            yield Offer(
                cloud=cloud,
                region=needed(row, "Region"),
                zone=text(row, "AvailabilityZone") or None,
                instance_type=instance_type,
                gpu=gpu,
                gpu_count=_AZURE_COUNTS.get(instance_type, count),
                gpu_memory_gib=_gpu_memory_gib(row, gpu),
                vcpus=number(row, "vCPUs", default=0),
                memory_gib=number(row, "MemoryGiB", default=0),
                market=market,
                price_hour_usd=found,
                captured_at=captured_at,
                source=source,
                flags=(OTHER_SKU,) if market is Market.ON_DEMAND and text(row, _OTHER_SKU) else (),
            )


def _gpu_memory_gib(row: Row, gpu: str | None) -> float | None:
    """Of one GPU. RunPod's rows write gigabytes where the others write MiB, which makes less than one GiB."""
    found = _MEMORY.search(text(row, "GpuInfo"))
    reported = float(found[1]) / 1024 if found else None
    return reported if reported and reported >= 1 else nominal_memory_gib(gpu, None)


def _joined(rows: Iterable[tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
    """GCP lists hosts and accelerators in rows of their own: a machine is the sum of a host and the accelerator row of
    its zone. A host whose zone lacks its GPU is not for sale there."""
    hosts: list[tuple[int, Row]] = []
    accelerators: dict[tuple[str, str, str], Row] = {}
    for line, row in rows:
        name = text(row, "AcceleratorName")
        if name.startswith("tpu"):
            yield line, row
        elif text(row, "InstanceType"):
            hosts.append((line, row))
        else:
            count = text(row, "AcceleratorCount").removesuffix(".0")
            accelerators[text(row, "AvailabilityZone"), name, count] = row
    dearest = _dearest(accelerators.values())
    for line, host in hosts:
        machine_type = text(host, "InstanceType")
        own = own_gpus(machine_type)
        if own is None:
            yield line, host
        for name, count_of_type in (own,) if own else N1.get(machine_type, ()):
            part = accelerators.get((text(host, "AvailabilityZone"), name, str(count_of_type)))
            if part is not None:
                gpu = {
                    "AcceleratorName": name,
                    "AcceleratorCount": str(count_of_type),
                    "GpuInfo": text(part, "GpuInfo"),
                    _OTHER_SKU: "yes"
                    if _is_other_sku(part, dearest.get(name) if _reserved(machine_type) else None)
                    else "",
                }
                prices = {c: _sum(text(host, c), text(part, c)) for c in ("Price", "SpotPrice")}
                yield line, {**host, **gpu, **prices}


def _dearest(parts: Iterable[Row]) -> dict[str, Decimal]:
    """By GPU: the highest on-demand price of one, over all regions."""
    found: dict[str, Decimal] = {}
    for part in parts:
        each = _each(part, "Price")
        if each is not None:
            name = text(part, "AcceleratorName")
            found[name] = max(each, found.get(name, each))
    return found


def _is_other_sku(part: Row, dearest: Decimal | None) -> bool:
    """Whether the on-demand price of a GPU is that of a reservation of fixed length, which the file mixes in: less than
    spot, or far below the dearest region. The sum with the host would hide it."""
    on_demand, spot = _each(part, "Price"), _each(part, "SpotPrice")
    if on_demand is None:
        return False
    return (spot is not None and on_demand < spot) or (dearest is not None and on_demand < dearest * _TOO_CHEAP)


def _reserved(machine_type: str) -> bool:
    """Whether Google sells the machine for a fixed time too: the series A2, A3 and A4."""
    return re.match(r"a\d-", machine_type) is not None


def _each(part: Row, column: str) -> Decimal | None:
    """The price of one GPU of a row; None when the row does not give one."""
    try:
        found, count = price(part, column), number(part, "AcceleratorCount")
    except RowRefused:
        return None
    return found / Decimal(str(count)) if found and count else None


def _sum(one: str, other: str) -> str:
    """Empty when a part has no price; what is no number stays visible, and is refused later."""
    if not one or not other:
        return ""
    try:
        return str(Decimal(one) + Decimal(other))
    except InvalidOperation:
        return f"{one} + {other}"
