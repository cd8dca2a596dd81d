"""What the guards of a job say about the signs of its nodes; pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trainrig.model.job import Guard, Guards


@dataclass(frozen=True, kw_only=True, slots=True)
class Signs:
    """One look at a running job. None: nobody knows, as on nodes without a GPU."""

    idle_seconds: float | None = None  # of the node that was busy last
    silent_seconds: float = 0.0  # since any rank wrote a line
    disk_percent: int | None = None  # of the fullest node


@dataclass(frozen=True, kw_only=True, slots=True)
class Breach:
    """A guard's limit is passed. `guard` is stable, `reason` is for people."""

    guard: str
    do: str
    reason: str


def breaches(guards: Guards, signs: Signs) -> Iterator[Breach]:
    """All limits that are passed now."""
    if (found := _over(guards.idle, signs.idle_seconds)) is not None:
        yield Breach(guard="idle", do=found.do, reason=f"no GPU was in use for {_minutes(signs.idle_seconds)}")
    if (found := _over(guards.silence, signs.silent_seconds)) is not None:
        yield Breach(guard="silence", do=found.do, reason=f"the job wrote nothing for {_minutes(signs.silent_seconds)}")
    if guards.disk is not None and signs.disk_percent is not None and signs.disk_percent > guards.disk.limit:
        yield Breach(
            guard="disk",
            do=guards.disk.do,
            reason=f"a node's disk is {signs.disk_percent} % full, more than {guards.disk.limit} %",
        )


def _over(guard: Guard | None, seconds: float | None) -> Guard | None:
    return guard if guard is not None and seconds is not None and seconds >= guard.limit else None


def _minutes(seconds: float | None) -> str:
    whole = int(seconds or 0)
    return f"{whole // 60} min" if whole >= 60 else f"{whole} s"
