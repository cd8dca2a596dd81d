"""A run: one job from its file to its outputs, on rigs that come and go, with nothing left at the end."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from trainrig import errors, settings
from trainrig.lifecycle import deliver, log_files, notify, pins, run_facts
from trainrig.lifecycle.origin import origin_of
from trainrig.lifecycle.place import place
from trainrig.lifecycle.run_context import RunContext, load, save
from trainrig.lifecycle.secret_values import secret_values
from trainrig.lifecycle.status import status
from trainrig.model.clock import utc_now
from trainrig.model.environment import Environment
from trainrig.model.events import Observer, Progress
from trainrig.model.job import Job
from trainrig.model.money import text
from trainrig.model.placement import Placement
from trainrig.model.process import Command
from trainrig.model.rig import RigState, new_run_id
from trainrig.render.identity import identity_of
from trainrig.reports import status_json
from trainrig.store import locks
from trainrig.tools import interrupt, proc

LAST_LOG_LINES = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """How a run ended. `error` is None when the job did its work and nothing is left."""

    document: Mapping[str, Any]  # trainrig.run/1
    error: errors.RigError | None


def placed(job: Job, environment: Environment) -> Placement:
    """The placement of a job, now.

    Raises:
        Unplaceable: no offer will do; the details have the placement's document.
    """
    from trainrig.reports import placement_json, placement_text

    placement = place(job, environment, now=utc_now())
    if placement.chosen is None:
        raise errors.Unplaceable(
            f"no offer fits {job.name}\n{placement_text.text(placement)}",
            hint="trainrig explain shows why each offer was rejected; widen the job or the environment",
            details=placement_json.to_document(placement),
        )
    return placement


@contextmanager
def begun(
    job: Job, environment: Environment, placement: Placement, observe: Observer, *, drill: bool = False
) -> Iterator[RunContext]:
    """A new run, written down before anything is asked of a cloud. `drill`: a node is taken away once, on purpose.

    When the caller's work with it ends before anything was asked of a cloud, its name is free again.

    Raises:
        RigBusy: the job's name belongs to a rig that may still exist.
        SpecInvalid: a local file or folder of the job is not there.
        CredentialsMissing: a secret of the job is not there, or the webhook that it notifies.
        StoreFailed: the checkpoint store does not answer, or does not let us write.
        SpecInvalid: the run whose checkpoint it is to begin with is not there, or has none.
    """
    deliver.require_sources(job)
    secret_values(job, os.environ)
    notify.url_of(job)
    job = pins.pinned(job, pins.load_lock(job), observe)
    identity = identity_of(
        job, environment, owner=environment.owner or getpass.getuser(), now=utc_now(), run_id=new_run_id()
    )
    run = RunContext(identity=identity, job=job, environment=environment, placement=placement, observe=observe)
    with interrupt.handled():
        with run.opened() as context:
            details = {"job": job.name, "job_digest": job.digest, "verb": "run", "drill": drill}
            context.journal.intend(identity, details={**details, "origin": origin_of(context, job, environment)})
        try:
            save(run)
            run.checkpoints.fence(1)  # that the store can be written to, before a node costs anything
            yield run
        except BaseException:
            with run.opened() as context:
                if not context.journal.attempts(run.run_id):
                    context.journal.set_state(run.run_id, RigState.FAILED, clean=True, reason="ended before it began")
            raise


def resumed(name_or_run_id: str, observe: Observer) -> RunContext:
    """A run of this machine that has not ended, to go on with. See run_context.load."""
    run = load(settings.home(), name_or_run_id, observe)
    with run.opened() as context:
        rig = context.journal.rig(run.run_id)
        if rig.clean and not _unended(run.run_id):
            raise errors.RigUnknown(
                f"{rig.name} has ended ({rig.state}), there is nothing to go on with",
                hint=f"trainrig logs {rig.name} prints what it wrote",
            )
    return run


def _unended(run_id: str) -> bool:
    """Whether the run's last word is still to be said: its process was killed between that and the end of its rig."""
    from trainrig.lifecycle import run_engine

    with run_engine.client() as client:
        known = client.list_workflows(workflow_ids=[run_id], load_input=False, load_output=False)
        return any(w.status in run_engine.ACTIVE for w in known)


def carry_out(run: RunContext) -> RunResult:
    """Plays the run's workflow to its end. The first interrupt asks the steps to end and destroys what exists.

    Raises:
        RigBusy: another process is at it.
        Interrupted: a second interrupt; the journal has what may be left.
    """
    # SQLAlchemy and DBOS take half a second to import: only a run pays it.
    from trainrig.lifecycle.run_workflow import running

    with interrupt.handled(), locks.hold(run.rig.path, "run"), running(run) as handle:
        result = interrupt.Awaited(handle.get_result)
        try:
            ended = result.get()
        except errors.Interrupted:
            run.stop.set()
            interrupt.acknowledge()
            with run.opened() as context:
                context.journal.update_details(run.run_id, cancel=True)  # whoever goes on with it ends it too
            run.observe(Progress(phase="destroy", message="interrupted; once more leaves the rest to trainrig destroy"))
            ended = result.get()
    return result_of(run, ended)


def enqueue(run: RunContext) -> None:
    """Puts the run on the queue: see lifecycle/queue.py."""
    from trainrig.lifecycle import queue

    queue.put(run)


def detach(run: RunContext) -> None:
    """Lets a process of its own carry the run out. Its talk is in the rig's `trainrig.log`."""
    argv = [sys.executable, "-m", "trainrig", "resume", run.run_id, "--verbose"]
    given = {n: r.removeprefix("value:") for n, r in run.job.secrets.items() if r.startswith("value:")}
    proc.detach(Command(argv=argv, env=given), run.rig.log)


def result_of(run: RunContext, ended: Mapping[str, Any]) -> RunResult:
    """The last document of a run, and the error that its exit code comes from."""
    end, collected, destroyed = ended["end"], ended["collected"], ended["destroyed"]
    with run.opened() as context:
        found = status(context, context.journal.rig(run.run_id))
        moves = run_facts.moves_of(context.journal.happenings(run.run_id, (run_facts.MOVING,)), ended["generation"])
        document = {
            "schema": "trainrig.run/1",
            "name": run.identity.name,
            "run_id": run.run_id,
            "state": found.state.value,
            "end": end["kind"],
            "limit": end.get("limit"),
            "exit_code": {"done": 0, "failed": end.get("exit_code")}.get(end["kind"]),
            "outputs": collected.get("outputs", {}),
            "outputs_path": str(run.outputs),
            "metrics": collected.get("metrics", {}),
            "recoveries": ended["generation"] - 1 - moves,
            "moves": moves,
            "attempts": [status_json.attempt_document(a) for a in found.attempts],
            "cost_usd": text(found.cost_usd),
            "lost_seconds": sum(a.lost_seconds or 0 for a in found.attempts),
            "checkpoint_advice": found.checkpoint_advice,
            "log_path": str(run.logs),
            "clean": destroyed["clean"],
        }
    return RunResult(document=document, error=_error(run, end, collected, destroyed, document))


def _error(
    run: RunContext, end: Mapping[str, Any], collected: Mapping[str, Any], destroyed: Mapping[str, Any], document: Any
) -> errors.RigError | None:
    """Something that may still bill is the worst news, then how the run ended."""
    name = run.identity.name
    if not destroyed["clean"]:
        doubts = "; ".join(destroyed["doubts"]) or "resources are still there"
        return errors.DestroyIncomplete(
            f"{name} could not be proven gone: {doubts}",
            hint=f"trainrig destroy --run-id {run.run_id} tries again",
            details=document,
        )
    match end["kind"]:
        case "done" if collected.get("kind") == "uncollected":
            return errors.ConfigureFailed(f"the outputs could not be fetched: {collected['reason']}", details=document)
        case "done":
            return None
        case "failed":
            code = end["exit_code"]
            last = [
                line for rank in log_files.ranks(run.logs) for line in log_files.tail(run.logs, rank, LAST_LOG_LINES)
            ]
            why = f" ({end['reason']})" if end.get("reason") else ""
            return errors.JobFailed(
                "\n    ".join([f"the job exited with code {code}{why}", *last[-LAST_LOG_LINES:]]),
                hint=f"the whole log: trainrig logs {name}",
                details={**document, "job_exit_code": code},
            )
        case "cancelled":
            return errors.Interrupted(f"{name} was stopped; nothing is left", details=document)
        case "policy":
            inner = end.get("error")
            because = f"\n{inner['message']}" if inner else ""
            if end["limit"] == "setup" and inner:
                return errors.ConfigureFailed(f"{end['reason']}{because}", hint=inner["hint"], details=document)
            return errors.StoppedByPolicy(
                f"{name}: {end['reason']}", hint="raise the limit and run again", details=document
            )
        case "refused":
            return _from_result(end["error"])
        case _:
            return errors.RigError(f"{name} ended as {end['kind']}: {end.get('reason', '')}", details=document)


def _from_result(document: Mapping[str, Any]) -> errors.RigError:
    """An error that crossed the workflow as its document."""
    from trainrig.reports.exit_codes import classes

    cls = next((c for c in classes(errors.RigError) if c.code == document["code"]), errors.RigError)
    return cls(document["message"], hint=document["hint"])
