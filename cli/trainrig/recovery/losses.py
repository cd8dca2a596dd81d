"""What a run has lost and how often it should save, from the lines of its journal. Pure.

The lines that count, each (when it was written, kind, data):

* `job_started` {generation, preemptions_hour}: what its market must expect, as text; absent: unknown
* `checkpoint` {generation, saved_at, save_seconds}: by the node's clock; null where it cannot say how long it took
* `job_ended` {generation, kind}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any, Final

from trainrig.recovery.checkpoint import best_interval_minutes

KINDS: Final = ("job_started", "checkpoint", "job_ended")
Line = tuple[datetime, str, Mapping[str, Any]]

# So many hours of the run itself weigh as much as what the market is known for: one preemption is no habit.
PRIOR_HOURS = 10.0
LAST_SAVES = 20


def lost_seconds(lines: Iterable[Line], generation: int) -> int | None:
    """From the last checkpoint of a generation (or its start) to its end: work that was done for nothing, and the time
    that it took to notice. 0 for a job that has done its work; None: it never started, or has not ended."""
    since, ended, done = None, None, False
    for at, kind, data in lines:
        if data.get("generation") != generation:
            continue
        if kind == "job_started":
            since = at.timestamp()
        elif kind == "checkpoint" and since is not None:
            since = max(since, float(data["saved_at"]))
        elif kind == "job_ended":
            ended, done = at.timestamp(), data.get("kind") == "done"
    if since is None or ended is None:
        return None
    return 0 if done else max(0, round(ended - since))


def advice(lines: Iterable[Line], now: datetime) -> str | None:
    """How often the job should write a checkpoint, in words; None while too little is known, or nothing can be lost."""
    lines = tuple(lines)
    saves = [data for _, kind, data in lines if kind == "checkpoint"][-LAST_SAVES:]
    durations = [float(d["save_seconds"]) for d in saves if d.get("save_seconds") is not None]
    rate = _preemptions_hour(lines, now)
    # A checkpoint of one small file is written at one moment, and says nothing of how long the next one takes.
    if not durations or not rate or not (seconds := median(durations)):
        return None
    gaps = [
        float(after["saved_at"]) - float(before["saved_at"])
        for before, after in pairwise(saves)
        if before["generation"] == after["generation"]
    ]
    best = best_interval_minutes(seconds, 1 / rate) * 60
    actual = f"; the job writes one every {_time(median(gaps))}" if gaps else ""
    return (
        f"a checkpoint every {_time(best)} would lose least: writing one takes {_time(seconds)}, and a preemption is "
        f"to be expected every {_time(3600 / rate)}{actual}"
    )


def _preemptions_hour(lines: tuple[Line, ...], now: datetime) -> float | None:
    """What the market is known for, corrected by what this run has seen."""
    known: float | None = None
    hours, seen, began = 0.0, 0, None
    for at, kind, data in lines:
        if kind == "job_started":
            began = at
            known = float(data["preemptions_hour"]) if "preemptions_hour" in data else known
        elif kind == "job_ended" and began is not None:
            hours += (at - began).total_seconds() / 3600
            seen += data.get("kind") in {"lost", "noticed"}
            began = None
    if began is not None:
        hours += (now - began).total_seconds() / 3600
    return None if known is None else (known * PRIOR_HOURS + seen) / (PRIOR_HOURS + hours)


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
