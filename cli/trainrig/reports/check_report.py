"""What a machine and its accounts are ready for, as text and as the `trainrig.check/1` document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainrig.model.readiness import Check, Readiness

MARKS = {"pass": "ok", "fail": "FAIL", "skip": "-"}


def document(readiness: Readiness) -> dict[str, Any]:
    return {
        "schema": "trainrig.check/1",
        "ready": readiness.ready,
        "tools": [_check(t) for t in readiness.tools],
        "clouds": [
            {
                "cloud": c.cloud,
                "account": c.account or None,
                "title": c.title,
                "enabled": c.failure is None,
                "reason": c.failure.detail if c.failure else "",
                "mend": c.failure.mend if c.failure else "",
                "checks": [_check(line) for line in c.checks],
            }
            for c in readiness.clouds
        ],
        "buckets": [_check(b) for b in readiness.buckets],
    }


def _check(c: Check) -> dict[str, str]:
    return {"name": c.name, "status": c.status, "detail": c.detail, "mend": c.mend}


def text(readiness: Readiness) -> str:
    lines = ["tools", *(line for t in readiness.tools for line in _lines(t))]
    for c in readiness.clouds:
        whose = " ".join(filter(None, (c.cloud, c.account)))
        lines += ["", f"{c.title} ({whose}): {'enabled' if c.failure is None else 'disabled'}"]
        lines += [line for check in c.checks for line in _lines(check)]
    if readiness.buckets:
        lines += ["", "buckets", *(line for b in readiness.buckets for line in _lines(b))]
    return "\n".join(lines)


def _lines(c: Check) -> Iterator[str]:
    yield f"  {MARKS[c.status]:<4}  {c.name}: {c.detail}"
    if c.mend and c.status != "pass":
        yield f"        mend: {c.mend}"
