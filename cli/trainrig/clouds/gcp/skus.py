"""Prices from the Cloud Billing catalogue: which of its SKUs is what part of which machine. Pure.

A machine has no SKU of its own: it is vCPUs, memory, GPUs and bundled local disk, each priced by region. The words that
tell them apart are those of the SKU descriptions; near look-alikes (reservations, DWS, sole tenancy) are refused, since
taking one of them for the list price makes a GPU look half as dear as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trainrig.model.offer import Market

COMPUTE_SERVICE = "6F81-5844-456A"

_SPOT = re.compile(r"spot preemptible", re.IGNORECASE)
_NOT_LIST_PRICE = re.compile(
    r"commitment|reserved|reservation|sole tenancy|custom|premium|dws|defined duration|calendar mode|"
    r"capacity optimized|vertex|upgrade",
    re.IGNORECASE,
)
_CORE_OR_RAM = re.compile(
    r"^(?:spot preemptible )?([\w ]+?) (?:predefined )?instance (core|ram) running in", re.IGNORECASE
)
_LOCAL_DISK = re.compile(r"^ssd backed local storage", re.IGNORECASE)
# Accelerator type of the API -> its words in a SKU.
_GPU_WORDS = {
    "nvidia-tesla-t4": "tesla t4 gpu",
    "nvidia-tesla-p4": "tesla p4 gpu",
    "nvidia-tesla-p100": "tesla p100 gpu",
    "nvidia-tesla-v100": "tesla v100 gpu",
    "nvidia-l4": "l4 gpu",
    "nvidia-tesla-a100": "tesla a100 gpu",
    "nvidia-a100-80gb": "a100 80gb gpu",
    "nvidia-h100-80gb": "h100 80gb gpu",
    "nvidia-h100-mega-80gb": "h100 80gb mega gpu|h100 mega 80gb gpu|h100 80gb plus gpu",
    "nvidia-h200-141gb": "h200 141gb gpu",
    "nvidia-b200": r"b200 \(1 gpu slice\)",
}
_GPUS = {kind: re.compile(words, re.IGNORECASE) for kind, words in _GPU_WORDS.items()}
# B200 SKUs hold the whole slice of the machine: vCPUs, memory and local disk are in the price.
WHOLE_MACHINE = frozenset({"nvidia-b200"})
# The family's words in "<words> Instance Core running in"; where the billing word is not the machine's own prefix.
_FAMILY_WORDS = {"a3-megagpu": "a3plus", "a3-ultragpu": "a3ultra"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """What one SKU prices: ("core", "a2"), ("ram", "a2"), ("gpu", "nvidia-l4") or ("disk", "")."""

    kind: str
    what: str
    market: Market


Prices = Mapping[tuple[Part, str], Decimal]  # (part, region) -> USD per unit and hour


def prices(skus: Iterable[Mapping[str, Any]]) -> dict[tuple[Part, str], Decimal]:
    """Unit prices per region; a SKU that is not understood is left out."""
    found: dict[tuple[Part, str], Decimal] = {}
    for sku in skus:
        part = part_of(str(sku.get("description", "")), sku.get("category", {}))
        price = unit_price(sku) if part else None
        if part and price:
            for region in sku.get("serviceRegions", []):
                found[part, region] = price
    return found


def part_of(description: str, category: Mapping[str, str]) -> Part | None:
    if category.get("usageType") not in {"OnDemand", "Preemptible"} or _NOT_LIST_PRICE.search(description):
        return None
    # The description decides: B200 spot SKUs carry the on-demand usage type.
    spot = _SPOT.search(description) or category["usageType"] == "Preemptible"
    market = Market.SPOT if spot else Market.ON_DEMAND
    if category.get("resourceGroup") == "GPU" or "gpu slice" in description:
        kinds = [kind for kind, pattern in _GPUS.items() if pattern.search(description)]
        return Part(kind="gpu", what=kinds[0], market=market) if len(kinds) == 1 else None
    host = _CORE_OR_RAM.match(description)
    if host:
        return Part(kind=host[2].lower(), what=host[1].lower().replace(" ", ""), market=market)
    if _LOCAL_DISK.match(description):
        return Part(kind="disk", what="", market=market)
    return None


def unit_price(sku: Mapping[str, Any]) -> Decimal | None:
    """Per unit and hour; local disk is listed per GiB and month."""
    try:
        expression = sku["pricingInfo"][0]["pricingExpression"]
        rate = expression["tieredRates"][-1]["unitPrice"]
        amount = Decimal(str(rate.get("units", 0))) + Decimal(int(rate.get("nanos", 0))) / 10**9
    except (KeyError, IndexError, ArithmeticError, ValueError):
        return None
    unit = str(expression.get("usageUnit", "h"))
    return amount / 730 if unit.endswith("mo") else amount


def machine_price(
    table: Prices,
    *,
    machine_type: str,
    region: str,
    market: Market,
    vcpus: int,
    memory_gib: Decimal,
    gpu: str,
    gpu_count: int,
    local_disk_gb: int,
) -> Decimal | None:
    """The hourly price of one machine, or None when a part of it has no price."""
    gpu_price = table.get((Part(kind="gpu", what=gpu, market=market), region))
    if gpu_price is None:
        return None
    if gpu in WHOLE_MACHINE:
        return gpu_price * gpu_count
    family = family_of(machine_type)
    core = table.get((Part(kind="core", what=family, market=market), region))
    ram = table.get((Part(kind="ram", what=family, market=market), region))
    disk = table.get((Part(kind="disk", what="", market=market), region)) if local_disk_gb else Decimal(0)
    if core is None or ram is None or disk is None:
        return None
    return gpu_price * gpu_count + core * vcpus + ram * memory_gib + disk * local_disk_gb


def family_of(machine_type: str) -> str:
    """`a2-highgpu-8g` -> `a2`, in the words of the billing catalogue."""
    series, _, rest = machine_type.partition("-")
    return _FAMILY_WORDS.get(f"{series}-{rest.partition('-')[0]}", series)
