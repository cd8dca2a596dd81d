"""The steps of a run that say what follows on what was seen, and in the end what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainrig import errors
from trainrig.lifecycle import notify, run_facts
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.events import Progress
from trainrig.recovery.decide import decide, market_for
from trainrig.recovery.facts import AskCloud, Continue, Fail, Finish, Observation, Replace, RestartJob, Stop

ALIVE = "a node lives, as its cloud says, and answers nobody or has stopped its job"
Seen = Mapping[str, Any]


def next_step(run: RunContext, generation: int, seen: Seen) -> dict[str, Any]:
    """What follows: `{do: end|replace|restart, end: {...}}`; `alive`: the nodes can still be asked for outputs."""
    if run.stop.is_set() and seen["kind"] == "uncollected":
        return {"do": "end", "end": seen["end"]}
    if run.stop.is_set() or seen["kind"] in {"interrupted", "cancelled"}:
        return _end("cancelled", alive=seen["kind"] in {"cancelled", "launched", "moving"})
    if seen["kind"] == "refused":
        return _end("refused", error=seen["error"])
    if seen["kind"] == "policy":
        return _end("policy", alive=seen["collect"], limit=seen["limit"], reason=seen["reason"])
    if seen["kind"] == "moving":
        return _move(run, generation, seen)
    with run.opened() as context:
        if seen["kind"] == "uncollected" and not run_facts.gone(context, run.run_id):
            return {"do": "end", "end": seen["end"]}
        if seen["kind"] == "setup_failed" and not seen["mendable"] and not run_facts.gone(context, run.run_id):
            return _end("refused", error=seen["error"])
        observation = {
            "done": Observation.JOB_DONE,
            "failed": Observation.JOB_FAILED,
            "lost": Observation.SILENT,
            "uncollected": Observation.SILENT,
            "noticed": Observation.SAVED,
            "setup_failed": Observation.SETUP_FAILED,
        }[seen["kind"]]
        facts = run_facts.facts(context, run, generation, observation, exit_code=seen.get("exit_code"))
        action = decide(facts)
        if isinstance(action, AskCloud):
            gone = run_facts.gone(context, run.run_id)
            # A cloud that does not answer leaves the job's own word, or the silence, as the best evidence.
            alive = not gone if gone is not None else observation is Observation.JOB_FAILED
            action = decide(run_facts.asked(facts, alive=alive))
            if isinstance(action, Stop) and seen["kind"] == "uncollected":
                return {"do": "end", "end": seen["end"]}  # no limit has stopped it: the work is done
            if isinstance(action, Continue):
                # Hung, cut off, booted again, or told to stop. It is ended before the next one comes up.
                run.observe(Progress(phase="recover", message=ALIVE))
                action = decide(run_facts.asked(facts, alive=False))
        again = isinstance(action, Replace | RestartJob)
        run.observe(Progress(phase="recover" if again else "run", message=_said(action)))
        match action:
            case Finish():
                return _end("done", alive=True)
            case Fail():
                return _end("failed", alive=True, exit_code=action.job_exit_code, reason=seen.get("reason", ""))
            case Stop():
                ended = _end("policy", alive=False, limit=action.limit, reason=action.reason)
                if "error" in seen:
                    ended["end"]["error"] = seen["error"]
                return ended
            case RestartJob():
                return {"do": "restart"}
            case Replace():
                context.journal.append(run.run_id, "recovery", {"generation": generation, "reason": action.reason})
                notify.tell(context, run, "preempted", action.reason, generation=generation)
                return {"do": "replace", "market": action.market, "to": None}
            case _:
                raise errors.RigError(f"nothing to do about {seen['kind']}: {action}")


def _move(run: RunContext, generation: int, seen: Seen) -> dict[str, Any]:
    """The job has saved and was stopped: its rig goes, and the next one comes up where it is cheaper."""
    with run.opened() as context:
        attempt = run_facts.living(context, run.run_id)
        context.journal.update_attempt(attempt, attempt.state, reason=f"moved: {seen['reason']}")
        notify.tell(context, run, "moved", seen["reason"], generation=generation)
        market = market_for(run_facts.facts(context, run, generation, Observation.SAVED))
    return {"do": "replace", "market": market, "to": seen["to"]}


def tell_end(run: RunContext, generation: int, end: Mapping[str, Any], *, clean: bool) -> dict[str, Any]:
    """The last event of a run, told before its process may end."""
    kind = end["kind"] if end["kind"] in {"done", "cancelled"} and clean else "failed"
    because = end.get("reason") or end.get("error", {}).get("message") or f"it ended as {end['kind']}"
    message = "nothing is left" if kind == "done" else because if clean else f"{because}; something may still bill"
    with run.opened() as context:
        if end["kind"] == "policy":
            notify.tell(context, run, "guard", because, generation=generation, detail=end["limit"])
        code = 0 if end["kind"] == "done" else end.get("exit_code")
        notify.tell(context, run, kind, message, generation=generation, exit_code=code)
    notify.flush(run)
    return {"kind": "told"}


def _end(kind: str, *, alive: bool = False, **more: Any) -> dict[str, Any]:
    return {"do": "end", "end": {"kind": kind, "alive": alive, **more}}


def _said(action: object) -> str:
    match action:
        case Finish():
            return "the job is done"
        case Fail():
            return f"the job failed with exit code {action.job_exit_code}"
        case Stop():
            return f"stop: {action.reason}"
        case Replace():
            return f"replace the rig: {action.reason}"
        case RestartJob():
            return "start the job again on the same nodes"
        case _:
            return str(action)
