"""Watches the job of one generation until it ends, is lost, or a limit or a person says stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from trainrig.lifecycle import job_control
from trainrig.lifecycle.checkpoint_sync import CheckpointSync
from trainrig.model.events import Observer
from trainrig.recovery.decide import decide
from trainrig.recovery.facts import Facts, Stop
from trainrig.tools.ssh import Ssh

LIMITS_EVERY_SECONDS = 5.0

Kind = Literal["done", "failed", "noticed", "lost", "policy", "cancelled"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """How one generation's job ended. `limit` and `reason` say which policy stopped it."""

    kind: Kind
    exit_code: int | None = None
    limit: str = ""
    reason: str = ""
    noticed: tuple[int, ...] = ()  # ranks that the cloud takes back, for `noticed`


@dataclass(frozen=True, kw_only=True, slots=True)
class Hooks:
    """What the watcher asks of the run, about once a second."""

    facts: Callable[[], Facts]  # healthy facts, for the limits
    cancelled: Callable[[], bool]
    gone: Callable[[], bool | None]  # whether the cloud says that a node is gone; None: it does not say
    committed: Callable[[], None]  # called when the first checkpoint of this generation is safe


def watch(ssh: Ssh, sync: CheckpointSync, observe: Observer, hooks: Hooks, cursors: Mapping[int, str]) -> Watched:
    """Follows the logs, from the cursors on, and returns when the job of this generation has ended."""
    stop: Watched | None = None
    told = False
    looked = time.monotonic()

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
        return stop is None

    end = job_control.follow(ssh, observe, on_tick=tick, gone=hooks.gone, cursors=cursors)
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
