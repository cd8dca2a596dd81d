"""Watches the job of one generation until it ends, is lost, or a limit or a person says stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from trainrig.lifecycle import job_control
from trainrig.lifecycle.checkpoint_sync import CheckpointSync
from trainrig.model.events import Event, LogLine, Observer
from trainrig.model.job import Guards
from trainrig.recovery.decide import decide
from trainrig.recovery.facts import Facts, Move, Stop
from trainrig.recovery.guards import Breach, Signs, breaches
from trainrig.tools.ssh import Ssh

LIMITS_EVERY_SECONDS = 5.0

Kind = Literal["done", "failed", "noticed", "lost", "policy", "cancelled", "moving"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """How one generation's job ended. `limit` and `reason` say which policy stopped it."""

    kind: Kind
    exit_code: int | None = None
    limit: str = ""
    reason: str = ""
    collect: bool = True  # for `policy`: whether the job saves and what it made is brought home
    noticed: tuple[int, ...] = ()  # ranks that the cloud takes back, for `noticed`
    to: int | None = None  # the candidate's number, for `moving`; the job still runs


@dataclass(frozen=True, kw_only=True, slots=True)
class Hooks:
    """What the watcher asks of the run, about once a second."""

    facts: Callable[[], Facts]  # healthy facts, for the limits and for what is cheaper elsewhere
    cancelled: Callable[[], bool]
    gone: Callable[[], bool | None]  # whether the cloud says that a node is gone; None: it does not say
    silent: Callable[[float], None]  # while a node does not answer: for how many seconds it has not
    guarded: Callable[[Breach], None]  # called once each time that a guard's limit is passed and the job goes on
    committed: Callable[[], None]  # called when the first checkpoint of this generation is safe


class _Signs:
    """What the guards look at, gathered from log lines and heartbeats of all ranks."""

    def __init__(self, observe: Observer, quiet_seconds: float) -> None:
        self._observe = observe
        self._line_at = time.monotonic() - quiet_seconds
        self._unheard = False
        self._beats: dict[int, Mapping[str, Any]] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, LogLine):
            self._line_at = time.monotonic()
        self._observe(event)

    def unheard(self) -> None:
        """A node did not answer: whether the job writes is not known, and what is lost is for others to say."""
        self._unheard = True

    def beat(self, rank: int, beat: Mapping[str, Any]) -> None:
        self._beats[rank] = beat

    def now(self) -> Signs:
        beats = tuple(self._beats.values())
        # Idle for no time is also what a node without a GPU says, and a job that has just begun.
        idle = [float(b["idle_minutes"]) * 60 for b in beats if b.get("gpu_busy_percent") is not None]
        full = [int(b["disk_percent"]) for b in beats if b.get("disk_percent") is not None]
        unheard, self._unheard = self._unheard, False
        return Signs(
            idle_seconds=min(idle, default=None),
            silent_seconds=0.0 if unheard else time.monotonic() - self._line_at,
            disk_percent=max(full, default=None),
        )


def watch(
    ssh: Ssh,
    sync: CheckpointSync,
    observe: Observer,
    hooks: Hooks,
    cursors: Mapping[int, str],
    guards: Guards,
    *,
    quiet_seconds: float = 0.0,
) -> Watched:
    """Follows the logs, from the cursors on, and returns when the job of this generation has ended. `quiet_seconds`:
    for how long it has written nothing, as far as earlier watches know."""
    stop: Watched | None = None
    told = False
    looked = time.monotonic()
    signs = _Signs(observe, quiet_seconds)
    passed: set[str] = set()  # the guards whose limits are passed, until they are not any more

    def guard() -> Watched | None:
        found = tuple(breaches(guards, signs.now()))
        passed.intersection_update(b.guard for b in found)
        for breach in found:
            if breach.do in {"stop", "destroy"}:
                return Watched(kind="policy", limit=breach.guard, reason=breach.reason, collect=breach.do == "stop")
            if breach.guard not in passed:
                passed.add(breach.guard)
                hooks.guarded(breach)
        return None

    def silent(seconds: float) -> None:
        signs.unheard()
        hooks.silent(seconds)

    def tick() -> bool:
        nonlocal stop, told, looked
        if hooks.cancelled():
            stop = Watched(kind="cancelled")
        if sync.committed and not told:
            told = True
            hooks.committed()
        if time.monotonic() - looked >= LIMITS_EVERY_SECONDS:
            looked = time.monotonic()
            action = decide(hooks.facts())
            if isinstance(action, Stop):
                stop = Watched(kind="policy", limit=action.limit, reason=action.reason)
            if isinstance(action, Move):
                stop = stop or Watched(kind="moving", reason=action.reason, to=action.candidate)
            stop = stop or guard()
        return stop is None

    end = job_control.follow(
        ssh,
        signs,
        on_tick=tick,
        gone=hooks.gone,
        on_silence=silent,
        cursors=cursors,
        on_beat=signs.beat,
        on_checkpoints=sync.looked_at,
    )
    match end.verdict:
        case "succeeded":
            return Watched(kind="done", exit_code=0)
        case "failed":
            return Watched(kind="failed", exit_code=end.exit_code, reason=_why(end))
        case "noticed":
            ranks = ", ".join(map(str, end.noticed))
            return Watched(kind="noticed", reason=f"the cloud takes rank {ranks} back", noticed=end.noticed)
        case "lost":
            return Watched(kind="lost", reason=f"rank {', '.join(map(str, end.lost))} is lost")
        case "stopped":
            assert stop is not None
            return stop


def _why(end: job_control.JobEnd) -> str:
    out_of_memory = [n.rank for n in end.nodes if n.oom_killed]
    return f"out of memory on rank {', '.join(map(str, out_of_memory))}" if out_of_memory else ""
