"""How far a job is: the work that its committed checkpoints hold, from the lines of its run's journal. Pure.

The lines that count, each (when it was written, kind, data):

* `job_started` {generation, work_hours}: the whole undisturbed job, as text; absent: nobody has said
* `checkpoint` {generation, saved_at, progress}: by the node's clock; `progress` is what the job says itself, as text
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any

from trainrig.model.status import Work

Line = tuple[datetime, str, Mapping[str, Any]]

PROGRESS = "progress"  # the file of a checkpoint in which a job says how far it is: `0.42`, or `420/1000`
MEASURED_SHARE = Decimal("0.02")  # of the job must lie between checkpoints before its speed is believed


@dataclass(slots=True)
class _Launch:
    """One start of the job: (when, progress) of each of its checkpoints."""

    at: float
    saves: list[tuple[float, Decimal | None]]


def work(lines: Iterable[Line], whole_hours: Decimal | None = None) -> Work:
    """`whole_hours`: the whole job, undisturbed; None: what `job_started` says.

    A job that tells its progress is believed, at the speed that lies between its checkpoints. For one that does not,
    the time from each start to the last checkpoint after it is work done.
    """
    launches, whole = _launches(lines)
    whole = whole if whole_hours is None else whole_hours
    done = _hours(_worked(launches))
    told = [share for one in launches for _, share in one.saves if share is not None]
    if told:
        share = told[-1]
        speed = _hours_of_all(launches) or whole
        left = None if speed is None else (1 - share) * speed
        return Work(done_hours=done, left_hours=left, done_share=share)
    return Work(done_hours=done, left_hours=None if whole is None else max(whole - done, Decimal(0)), done_share=None)


def progress_of(text: str) -> Decimal | None:
    """0 to 1, from `0.42` or `420/1000`; None when it says neither."""
    part, slash, whole = text.strip().partition("/")
    try:
        found = Decimal(part) / Decimal(whole) if slash else Decimal(part)
    except (InvalidOperation, ZeroDivisionError):
        return None
    return found if found.is_finite() and 0 <= found <= 1 else None


def _launches(lines: Iterable[Line]) -> tuple[list[_Launch], Decimal | None]:
    found: list[_Launch] = []
    whole: Decimal | None = None
    for at, kind, data in lines:
        if kind == "job_started":
            found.append(_Launch(at.timestamp(), []))
            whole = Decimal(data["work_hours"]) if data.get("work_hours") else whole
        elif kind == "checkpoint" and found:
            share = data.get("progress")
            found[-1].saves.append((float(data["saved_at"]), None if share is None else Decimal(share)))
    return found, whole


def _worked(launches: list[_Launch]) -> float:
    """Seconds. A start that follows another one also loads what was saved, for which nobody has a clock: the way to its
    first checkpoint counts for no more than the longest that was seen without loading."""
    first, between = [], []
    for one in launches:
        times = [one.at]
        for saved, _ in one.saves:
            times.append(max(saved, times[-1]))  # a node's clock that is behind takes no work back
        steps = [after - before for before, after in pairwise(times)]
        first += steps[:1]
        between += steps[1:]
    longest = max([*first[:1], *between], default=0.0)  # grows with each checkpoint, and so does the work done
    return sum(between) + sum(first[:1]) + sum(min(step, longest) for step in first[1:])


def _hours_of_all(launches: list[_Launch]) -> Decimal | None:
    """Hours that the whole job takes at the speed between its checkpoints; None while too little lies between them."""
    seconds, share = 0.0, Decimal(0)
    for one in launches:
        for (before, was), (after, now) in pairwise(one.saves):
            if was is not None and now is not None and now > was and after > before:
                seconds += after - before
                share += now - was
    return _hours(seconds) / share if share >= MEASURED_SHARE else None


def _hours(seconds: float) -> Decimal:
    return Decimal(str(round(seconds, 3))) / 3600
