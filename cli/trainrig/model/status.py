"""A rig as `status` shows it: what the journal has, and beside it what the cloud shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from trainrig.model.fault import FaultClass
from trainrig.model.node import Node
from trainrig.model.offer import Market
from trainrig.model.rig import RigState

DriftKind = Literal["preempted", "edited", "gone", "extra"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Drift:
    """One thing that the cloud shows otherwise than the state has it. `preempted`: a spot node that is gone."""

    kind: DriftKind
    type: str
    id: str
    detail: str = ""  # the attributes that differ, the address


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptStatus:
    generation: int
    number: int
    cloud: str
    region: str
    zone: str | None
    instance_type: str
    market: Market
    nodes: int
    price_hour_usd: Decimal  # of one node
    state: str
    fault: FaultClass | None
    reason: str
    started_at: datetime
    seconds: int
    cost_usd: Decimal
    lost_seconds: int | None  # of work that no checkpoint has; None: its job never started, or runs
    tries: int = 1  # of the same place, one after another


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeStatus:
    node: Node
    seen: bool | None  # None: the cloud was not asked


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """How far a job is, in hours of training, by its committed checkpoints: what none of them holds is not done."""

    done_hours: Decimal
    left_hours: Decimal | None  # None: nobody has said how long it takes
    done_share: Decimal | None  # 0 to 1, as the job itself says


@dataclass(frozen=True, kw_only=True, slots=True)
class RigStatus:
    name: str
    run_id: str
    owner: str
    environment: str
    state: RigState
    clean: bool  # proven: nothing of it is left
    expires_at: datetime
    cost_usd: Decimal
    attempts: tuple[AttemptStatus, ...]
    nodes: tuple[NodeStatus, ...]
    holder: str | None  # who works on it now
    notes: tuple[str, ...]  # what the reader should know or do
    checkpoint_advice: str | None = None  # how often its job should save
    work: Work | None = None  # None: its job has not started, or all has ended

    @property
    def current(self) -> AttemptStatus | None:
        """The last attempt: where the rig is, or was."""
        return self.attempts[-1] if self.attempts else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Something with our labels that a sweep found in a cloud."""

    cloud: str
    region: str
    type: str
    id: str
    name: str
    run_id: str | None
    expires_at: datetime | None
    expired: bool
    price_hour_usd: Decimal | None
    gone: bool = False  # the sweep deleted it
    detail: str = ""  # why it did not


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepResult:
    """`doubts` name clouds that could not be asked."""

    found: tuple[Found, ...]
    doubts: tuple[str, ...]
    deleted: bool  # False: a dry run

    @property
    def expired(self) -> tuple[Found, ...]:
        return tuple(f for f in self.found if f.expired)

    @property
    def price_hour_usd(self) -> Decimal:
        """What all that was found costs an hour, as far as prices are known."""
        return sum((f.price_hour_usd for f in self.found if f.price_hour_usd is not None), Decimal(0))

    @property
    def clean(self) -> bool:
        """Nothing that is past its lease is left, and every cloud was asked."""
        return not self.doubts and all(f.gone for f in self.expired)
