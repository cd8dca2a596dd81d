"""What this machine offers: slices of it, computed each time. Nodes share it, so a slice is a limit and may be
promised to more nodes than there are processors for.

Nothing here is billed. The price is nominal, so that plans, budgets and the ledger add up and the smallest slice that
fits is also the cheapest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from trainrig.clouds.base import Account
from trainrig.model.clock import utc_now
from trainrig.model.offer import Market, Offer

REGION = "local"
SOURCE = "this machine, nominal price"
NOMINAL_CORE_HOUR_USD = {Market.ON_DEMAND: Decimal("0.010"), Market.SPOT: Decimal("0.004")}
SMALL_MEMORY_GIB = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    name: str
    cores: int
    memory_gib: float


def offers(account: Account) -> Iterator[Offer]:  # noqa: ARG001
    return offers_of(slices(cores=_cores(), memory_gib=_memory_gib()), utc_now())


def slices(*, cores: int, memory_gib: float) -> tuple[Slice, ...]:
    half = max(1, cores // 2)
    found = (
        Slice(name="local.small", cores=1, memory_gib=min(SMALL_MEMORY_GIB, _round(memory_gib / 2))),
        Slice(name="local.half", cores=half, memory_gib=_round(memory_gib / 2)),
        Slice(name="local.full", cores=cores, memory_gib=_round(memory_gib)),
    )
    # On a small machine two of them are the same.
    return tuple({(s.cores, s.memory_gib): s for s in reversed(found)}.values())[::-1]


def offers_of(found: tuple[Slice, ...], now: datetime) -> Iterator[Offer]:
    for piece in found:
        for market, core_hour_usd in NOMINAL_CORE_HOUR_USD.items():
            yield Offer(
                cloud="local",
                region=REGION,
                zone=None,
                instance_type=piece.name,
                gpu=None,
                gpu_count=0,
                gpu_memory_gib=None,
                vcpus=piece.cores,
                memory_gib=piece.memory_gib,
                market=market,
                price_hour_usd=core_hour_usd * piece.cores,
                captured_at=now,
                source=SOURCE,
            )


def _round(gib: float) -> float:
    """Down to half a GiB: a whole number of 512 MiB that fits."""
    return max(0.5, int(gib * 2) / 2)


def _cores() -> int:
    return os.cpu_count() or 1


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
