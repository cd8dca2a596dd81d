"""A run that has lost its rig while no approved place has machines: nothing is up, nothing bills, its checkpoints are
safe. It waits until there are some, or until one of its limits is reached."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from trainrig.errors import NoCapacity, OverBudget, RigError
from trainrig.lifecycle import extend, run_facts
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.events import Progress
from trainrig.model.offer import Market
from trainrig.recovery.decide import decide
from trainrig.recovery.facts import Observation, Stop, Wait

FIRST_SECONDS = 60.0
LONGEST_SECONDS = 600.0
LOOK_SECONDS = 5.0
# What may be otherwise in a while: no machines anywhere, or none at an approved price.
_PASSING = {NoCapacity.code, OverBudget.code}

Seen = dict[str, Any]


def passes(seen: Seen) -> bool:
    """Whether it was refused for want of machines."""
    return bool(seen["kind"] == "refused" and seen["error"]["code"] in _PASSING)


def until_up(
    context: Context, run: RunContext, generation: int, seen: Seen, try_again: Callable[[Market | None], Seen]
) -> Seen:
    """Tries again and again, less and less often, until a try ends in another way than `seen`; `policy`: a limit was
    reached; `interrupted`: somebody ended the run."""
    pause = FIRST_SECONDS
    while passes(seen):
        words = seen["error"]["message"].splitlines()[0]
        run.observe(Progress(phase="recover", message=f"{words}; tried again in {pause:.0f} s"))
        until = time.monotonic() + pause
        market: Market | None = None
        while time.monotonic() < until:
            ended, market = _look(context, run, generation)
            if ended is not None:
                return ended
            if run.stop.wait(min(LOOK_SECONDS, max(0.0, until - time.monotonic()))):
                return {"kind": "interrupted"}
            run.go_on()
        seen, pause = try_again(market), min(2 * pause, LONGEST_SECONDS)
    return seen


def _look(context: Context, run: RunContext, generation: int) -> tuple[Seen | None, Market | None]:
    """How the wait ends, or on which market the next try begins."""
    if run_facts.cancelled(context, run.run_id) or context.journal.rig(run.run_id).clean:
        return {"kind": "interrupted"}, None
    extend.as_asked(context, context.journal.rig(run.run_id))
    match decide(run_facts.facts(context, run, generation, Observation.NOWHERE)):
        case Stop(limit=limit, reason=reason):
            return {"kind": "policy", "limit": limit, "reason": reason, "collect": False}, None
        case Wait(market=market):
            return None, market
        case other:
            raise RigError(f"nothing to do while no place has machines: {other}")
