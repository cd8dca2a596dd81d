"""What is known about a run, gathered from its journal, its ledger and its cloud, for recovery/decide.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

from trainrig.errors import RigError, RigUnknown
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.drift import drift
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.offer import Market
from trainrig.model.placement import Candidate, Placement
from trainrig.recovery.decide import decide
from trainrig.recovery.facts import Facts, Limits, Observation, Stop
from trainrig.recovery.work import work
from trainrig.store import ledger
from trainrig.store.journal import Attempt, AttemptState, Happening

# The line of the journal that is written before a job is stopped in order to move, and how its end is called then.
MOVING: Final = "moving"
# The same before a limit, a guard or a person stops a job.
STOPPING: Final = "stopping"
# The line after which nothing of a job is on its nodes alone.
COLLECTED: Final = "collected"


def facts(
    context: Context, run: RunContext, generation: int, observation: Observation, *, exit_code: int | None = None
) -> Facts:
    """One look at the run, now."""
    rig = context.journal.rig(run.run_id)
    happened = context.journal.happenings(run.run_id)
    done = work([(h.at, h.kind, h.data) for h in happened], hours := work_hours(run))
    return Facts(
        now=context.now(),
        started_at=rig.begun_at,
        observation=observation,
        job_exit_code=exit_code,
        silent_seconds=60 if observation is Observation.SILENT else 0,
        recoveries=generation - 1 - (moves := moves_of(happened, generation)),
        recoveries_without_progress=_without_progress(happened),
        setup_failures=_setup_failures(happened, observation, generation),
        job_failures=sum(h.data["kind"] == "failed" for h in _ends(happened)),
        spent_usd=ledger.cost(context.journal, run.run_id, context.now()),
        work_hours=hours,
        work_left_hours=done.left_hours,
        market=_market(context, run.run_id),
        limits=Limits(
            budget_usd=run.job.budget_usd or run.environment.budget_run_usd,
            deadline=run.job.deadline,
            timeout_at=None
            if run.job.timeout_seconds is None
            else rig.begun_at + timedelta(seconds=run.job.timeout_seconds),
            lease_ends=rig.identity.expires_at,
            max_restarts_on_errors=run.job.recovery.max_restarts_on_errors,
            max_recoveries=run.job.recovery.max_recoveries,
            on_exit_codes=frozenset(run.job.recovery.on_exit_codes),
        ),
        move=run.job.recovery.move,
        moves=moves,
        settled_at=max((h.at for h in happened if _is(h, "job_started", generation)), default=None),
        committed=any(_is(h, "checkpoint", generation) for h in happened),
    )


def moves_of(happened: Sequence[Happening], generation: int) -> int:
    """How many generations before this one ended because the job moved."""
    return len({h.data["generation"] for h in happened if h.kind == MOVING and h.data["generation"] < generation})


def moving(context: Context, run_id: str, generation: int) -> Happening | None:
    """The decision that the job of this generation moves, if it was taken."""
    return _decision(context, run_id, MOVING, generation)


def stopping(context: Context, run_id: str, generation: int) -> Happening | None:
    """The decision that the job of this generation is stopped by a limit, a guard or a person, if it was taken."""
    return _decision(context, run_id, STOPPING, generation)


def started(context: Context, run_id: str, generation: int) -> Happening | None:
    """That the job of this generation was started, perhaps by a process that was killed right after."""
    return _decision(context, run_id, "job_started", generation)


def ended(context: Context, run_id: str, generation: int) -> Happening | None:
    """How the job of this generation ended, if that was seen, perhaps by a process that was killed right after."""
    return _decision(context, run_id, "job_ended", generation)


def saves(context: Context, run_id: str, generation: int) -> int:
    """How many checkpoints of that generation are safe, whichever process has committed them."""
    return sum(_is(h, "checkpoint", generation) for h in context.journal.happenings(run_id, ("checkpoint",)))


def _decision(context: Context, run_id: str, kind: str, generation: int) -> Happening | None:
    found = [h for h in context.journal.happenings(run_id, (kind,)) if _is(h, kind, generation)]
    return found[0] if found else None


def work_hours(run: RunContext) -> Decimal | None:
    """The whole job, undisturbed; None: nobody has said, and nothing hangs on it."""
    chosen = run.placement.chosen
    return run.job.expected_hours or (chosen.expected_hours if chosen and run.job.deadline else None)


def asked(known: Facts, *, alive: bool) -> Facts:
    return replace(known, nodes_alive=alive)


def gone(context: Context, run_id: str) -> bool | None:
    """Whether the cloud says that a node of the run is gone; None when it does not say."""
    try:
        return any(d.kind in {"preempted", "gone"} for d in drift(context, context.journal.rig(run_id)))
    except RigError:
        return None


def cancelled(context: Context, run_id: str) -> bool:
    return bool(context.journal.rig(run_id).details.get("cancel"))


def living(context: Context, run_id: str) -> Attempt:
    """The attempt that is up: there is never more than one.

    Raises:
        RigUnknown: there is none.
    """
    for attempt in reversed(context.journal.attempts(run_id)):
        if attempt.state is AttemptState.UP:
            return attempt
    raise RigUnknown(f"run {run_id} has no rig that is up")


def over(context: Context, run: RunContext, generation: int) -> dict[str, Any] | None:
    """The limit that is passed, as a step's result, while no job runs that could still save or be asked for outputs."""
    action = decide(facts(context, run, generation, Observation.NOWHERE))
    if not isinstance(action, Stop):
        return None
    return {"kind": "policy", "limit": action.limit, "reason": action.reason, "collect": False}


def candidate_of(placement: Placement, attempt: Attempt) -> Candidate:
    """The candidate that an attempt was made on."""
    key = (attempt.cloud, attempt.account, attempt.region, attempt.zone, attempt.instance_type, attempt.market)
    for c in placement.candidates:
        o = c.offer
        if (o.cloud, c.account, o.region, o.zone, o.instance_type, o.market) == key:
            return c
    raise RigUnknown(f"attempt {attempt.generation}-{attempt.number} is on no candidate of the placement")


def candidates(
    context: Context, run: RunContext, market: Market | None, to: int | None = None
) -> tuple[Candidate, ...]:
    """The approved candidates in their order, those of the market that is asked for first, and where this run has just
    lost a rig last: the place that took a node back is the likeliest to do it again. `to`: which of them the run moves
    to; it comes before all others, and no place has lost anything."""
    lost = [(a.cloud, a.region, a.zone) for a in context.journal.attempts(run.run_id)][-1:] if to is None else []

    def key(numbered: tuple[int, Candidate]) -> tuple[bool, bool, bool]:
        number, c = numbered
        place = (c.offer.cloud, c.offer.region, c.offer.zone)
        return (number != to, market is not None and c.offer.market is not market, place in lost)

    return tuple(c for _, c in sorted(enumerate(run.placement.candidates), key=key))


def _without_progress(happened: tuple[Happening, ...]) -> int:
    """Ends of the job in a row, the last included, that no committed checkpoint came before. That of a job that moved
    is none."""
    count = 0
    for h in reversed(_ends(happened)):
        if h.data["kind"] != MOVING:
            if h.data["checkpoints"]:
                break
            count += 1
    return count


def _setup_failures(happened: tuple[Happening, ...], observation: Observation, generation: int) -> int:
    """Rigs in a row, this one included, that never started the job. That it is replaced may have been written down
    already, by a process that was killed right after."""
    if observation is not Observation.SETUP_FAILED:
        return 0
    failed = {generation}
    for h in reversed(happened):
        if h.kind == "job_started":
            break
        if h.kind == "recovery":
            failed.add(h.data["generation"])
    return len(failed)


def _ends(happened: Iterable[Happening]) -> list[Happening]:
    """The end of the job in each generation. A step that is taken again after a crash says it once more."""
    return list({h.data["generation"]: h for h in happened if h.kind == "job_ended"}.values())


def _is(h: Happening, kind: str, generation: int) -> bool:
    return h.kind == kind and h.data.get("generation") == generation


def _market(context: Context, run_id: str) -> Market:
    attempts = context.journal.attempts(run_id)
    return attempts[-1].market if attempts else Market.ON_DEMAND
