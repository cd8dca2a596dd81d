"""Quotas: what an account may hold of a thing in a region, and what a rig would take of it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from trainrig.model.offer import Market


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """A limit of an account in one region; None in `used` or `limit`: the cloud did not say."""

    cloud: str
    region: str  # "global" for a limit over all regions
    code: str  # the cloud's own name of it: "L-417A185B", "NVIDIA_A100_GPUS"
    unit: Literal["vcpus", "gpus", "cores"]
    market: Market
    limit: Decimal | None
    used: Decimal | None
    account: str = ""  # which of the cloud's several accounts


@dataclass(frozen=True, kw_only=True, slots=True)
class QuotaNeed:
    """What a rig counts against one quota. One offer may count against several: GCP has a regional and a global one."""

    code: str
    amount: Decimal
    region: str  # the offer's region, or "global"
