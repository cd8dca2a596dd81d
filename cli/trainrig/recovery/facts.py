"""What the watcher of a run has seen, and what may be done about it: plain data for recovery/decide.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from trainrig.model.job import MoveWishes
from trainrig.model.offer import Market


class Observation(StrEnum):
    HEALTHY = "healthy"  # heartbeats arrive, the job runs
    SAVED = "saved"  # after a notice: what the job could save is committed
    SILENT = "silent"  # no heartbeat; nobody has said why
    JOB_DONE = "job_done"  # every rank ended with 0
    JOB_FAILED = "job_failed"  # a rank ended with another code
    SETUP_FAILED = "setup_failed"  # the rig did not come up or could not be configured
    NOWHERE = "nowhere"  # after a loss: no approved place has machines now, at an approved price


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What ends a run. Spend, deadline and progress are the limits; a count only where the job sets one."""

    budget_usd: Decimal | None = None
    deadline: datetime | None = None
    timeout_at: datetime | None = None  # the run has taken as long as it may
    lease_ends: datetime | None = None  # after which the nodes end themselves
    max_restarts_on_errors: int = 0  # of a job that failed by itself, with whichever code
    max_recoveries: int | None = None
    on_exit_codes: frozenset[int] = frozenset()  # job exit codes that are worth another try


@dataclass(frozen=True, kw_only=True, slots=True)
class Elsewhere:
    """An approved place that could be had now instead of where the job runs. Prices and amounts are of all nodes."""

    candidate: int  # its place in the order of the placement
    where: str  # for people
    market: Market
    here_hour_usd: Decimal
    there_hour_usd: Decimal
    saving_usd: Decimal  # expected over the work left, before the way is paid
    cost_usd: Decimal  # of the way, whether or not the place is to be had

    @property
    def gain_usd(self) -> Decimal:
        return self.saving_usd - self.cost_usd


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """One look at a run. Times are timezone-aware; hours of work are hours of undisturbed training."""

    now: datetime
    started_at: datetime
    observation: Observation
    job_exit_code: int | None = None
    silent_seconds: float = 0
    nodes_alive: bool | None = None  # what the cloud said; None: not asked, or it did not answer
    recoveries: int = 0
    recoveries_without_progress: int = 0  # in a row, without a newly committed checkpoint
    setup_failures: int = 0  # in a row
    job_failures: int = 0  # times that the job itself failed, this one included
    spent_usd: Decimal = Decimal(0)
    work_hours: Decimal | None = None  # the whole job, checkpoint writes included; None: not declared
    work_left_hours: Decimal | None = None  # from the last committed checkpoint
    changeover_hours: Decimal = Decimal("0.2")  # provision and set up once more
    market: Market = Market.ON_DEMAND
    spot_obtainable: bool = True
    limits: Limits = field(default_factory=Limits)
    move: MoveWishes | None = None  # None: the job does not want to move
    moves: int = 0  # so far
    settled_at: datetime | None = None  # when the job started where it runs now
    committed: bool = False  # a checkpoint that was made where it runs now is safe, and copies still arrive
    elsewhere: tuple[Elsewhere, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Continue:
    """Nothing to do, look again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepare:
    """Get the replacement's plan ready; do not start it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AskCloud:
    """Nobody but the cloud knows whether the nodes exist; ask before judging the job."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RestartJob:
    """The nodes are fine: start the job again on them, from the last committed checkpoint."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Replace:
    """Prove the rig gone, then place, apply, configure and resume on another one, on `market`."""

    market: Market | None  # None: whichever is cheapest
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """Save, stop, prove the rig gone, and resume on that candidate of the placement, or else on the others in their
    order. No failure: it counts for no budget of recoveries."""

    candidate: int
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """Nothing is up and nothing bills: try the approved places again after a while, on `market`."""

    market: Market | None  # None: whichever is cheapest


@dataclass(frozen=True, kw_only=True, slots=True)
class Finish:
    """Collect and destroy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fail:
    """The user's job failed; collect, destroy, exit 9 with its code."""

    job_exit_code: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """A limit is reached; save, collect, destroy, exit 10. `limit` is stable, `reason` is for people."""

    limit: str
    reason: str


Action = Continue | Prepare | AskCloud | RestartJob | Replace | Move | Wait | Finish | Fail | Stop
