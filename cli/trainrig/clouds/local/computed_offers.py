"""What this machine offers: slices of it, computed each time. Nodes share it, so a slice is a limit, and processors and
memory may be promised more than once. A GPU belongs to one node.

Nothing here is billed. The price is nominal, so that plans, budgets and the ledger add up and the smallest slice that
fits is also the cheapest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from trainrig.clouds.local import gpus
from trainrig.clouds.local.gpus import HostGpu
from trainrig.model.offer import Market, Offer
from trainrig.model.process import Runner

REGION = "local"
SOURCE = "this machine, nominal price"
CORE_HOUR_USD = {Market.ON_DEMAND: Decimal("0.010"), Market.SPOT: Decimal("0.004")}
GIB_HOUR_USD = {Market.ON_DEMAND: Decimal("0.0010"), Market.SPOT: Decimal("0.0004")}
GPU_HOUR_USD = {Market.ON_DEMAND: Decimal("0.100"), Market.SPOT: Decimal("0.040")}
SMALL_MEMORY_GIB = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    name: str
    cores: int
    memory_gib: float
    gpus: int = 0

    def price_hour_usd(self, market: Market) -> Decimal:
        memory = Decimal(str(self.memory_gib)) * GIB_HOUR_USD[market]
        return self.cores * CORE_HOUR_USD[market] + memory + self.gpus * GPU_HOUR_USD[market]


def offers(run: Runner, now: datetime) -> Iterator[Offer]:
    cards = gpus.of_this_machine(run)
    for piece in slices(cores=_cores(), memory_gib=_memory_gib(), gpu_count=len(cards)):
        for market in CORE_HOUR_USD:
            yield _offer(piece, market, cards[0] if piece.gpus else None, now)


def slices(*, cores: int, memory_gib: float, gpu_count: int = 0) -> tuple[Slice, ...]:
    """`local.small`, `local.half`, `local.full`, where they differ; with GPUs `local.gpu1`, `.gpu2`, `.gpu4`, ... too,
    each with its share of the rest."""
    plain = (
        Slice(name="local.small", cores=1, memory_gib=min(SMALL_MEMORY_GIB, _floor(memory_gib / 2))),
        Slice(name="local.half", cores=max(1, cores // 2), memory_gib=_floor(memory_gib / 2)),
        Slice(name="local.full", cores=cores, memory_gib=_floor(memory_gib)),
    )
    counts = sorted({1 << i for i in range(gpu_count.bit_length()) if 1 << i <= gpu_count} | {gpu_count} - {0})
    with_gpus = (
        Slice(
            name=f"local.gpu{count}",
            cores=max(1, cores * count // gpu_count),
            memory_gib=_floor(memory_gib * count / gpu_count),
            gpus=count,
        )
        for count in counts
    )
    distinct = {(s.cores, s.memory_gib): s for s in reversed(plain)}
    return (*reversed(distinct.values()), *with_gpus)


def _offer(piece: Slice, market: Market, card: HostGpu | None, now: datetime) -> Offer:
    return Offer(
        cloud="local",
        region=REGION,
        zone=None,
        instance_type=piece.name,
        gpu=card.name if card else None,
        gpu_count=piece.gpus,
        gpu_memory_gib=card.memory_gib if card else None,
        vcpus=piece.cores,
        memory_gib=piece.memory_gib,
        market=market,
        price_hour_usd=piece.price_hour_usd(market),
        captured_at=now,
        source=SOURCE,
    )


def _floor(gib: float) -> float:
    """Down to half a GiB, at least one of them."""
    return max(0.5, int(gib * 2) / 2)


def _cores() -> int:
    return os.cpu_count() or 1


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
