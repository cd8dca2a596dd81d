"""Which run's checkpoint a new run begins with: `checkpoints.resume` of its job, decided once and written down before
anything is asked of a cloud."""

from __future__ import annotations

import re

from trainrig.errors import RigUnknown, SpecInvalid
from trainrig.lifecycle import run_facts
from trainrig.lifecycle.checkpoint_stores import store_of, url_of
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.run_context import RunContext, load
from trainrig.model.environment import Environment
from trainrig.model.job import Job
from trainrig.recovery.stores import Checkpoint
from trainrig.store.journal import Rig

_FROM = "from:"
_RUN_ID = re.compile(r"[a-z0-9]{8}\Z")


def origin_of(context: Context, job: Job, environment: Environment) -> str | None:
    """The id of the run that a new run of this job goes on from; None: it begins with nothing.

    `resume` takes the last run of a job of that name which has a checkpoint, unless one that came later has done its
    work, or began afresh: then there is nothing to go on with. `from: RUN` also finds a run of another machine, by its
    id, in the store that both share.

    Raises:
        SpecInvalid: `from: RUN` names a run that there is not, or one without a whole checkpoint.
        StoreFailed: the store does not answer.
    """
    policy = job.checkpoints.resume if job.checkpoints else "fresh"
    if policy.startswith(_FROM):
        return _named(context, job, environment, policy.removeprefix(_FROM))
    return _last(context, job) if policy == "resume" else None


def checkpoint_of(context: Context, run: RunContext, origin: str) -> tuple[Checkpoint | None, list[str]]:
    """The newest whole checkpoint of the run that `run` goes on from, and in words why newer ones were passed over.

    Raises:
        RigUnknown: this machine has no such run, or its folder is gone, and there is no store to look into.
        StoreFailed: the store does not answer.
    """
    return _newest(context, run.job, run.environment, origin)[1:]


def _newest(
    context: Context, job: Job, environment: Environment, name: str
) -> tuple[str, Checkpoint | None, list[str]]:
    try:
        run = load(context.home, name, context.observe)
    except RigUnknown:
        if url_of(job, environment) is None or not _RUN_ID.match(name):
            raise
        return name, *store_of(job, environment, name, context.home / "fetched" / name).newest()
    return run.run_id, *run.checkpoints.newest()


def _named(context: Context, job: Job, environment: Environment, name: str) -> str:
    where = f"{job.source or job.name}: checkpoints.resume"
    try:
        run_id, newest, skipped = _newest(context, job, environment, name)
    except RigUnknown as error:
        raise SpecInvalid(
            f"{where}: from: {name}: {error.message}", hint="trainrig status --all lists the runs of this machine"
        ) from error
    if newest is None:
        why = "; ".join(skipped) or "it committed none"
        raise SpecInvalid(
            f"{where}: from: {name}: run {run_id} has no whole checkpoint: {why}",
            hint="name another run, or begin anew with resume: fresh",
        )
    return run_id


def _last(context: Context, job: Job) -> str | None:
    for rig in context.journal.rigs(all_rigs=True):  # newest first
        if rig.details.get("verb") != "run" or rig.details.get("job") != job.name:
            continue
        if _has_done_its_work(context, rig):
            return None
        try:
            run = load(context.home, rig.run_id, context.observe)
        except RigUnknown:
            continue  # its folder was deleted, and its checkpoints with it
        if run.checkpoints.has_one():
            return rig.run_id
        if _began_afresh(run):
            return None
    return None


def _has_done_its_work(context: Context, rig: Rig) -> bool:
    """Whether its job ended well, and what it made is here: what went with its nodes must be made again."""
    done = False
    for h in context.journal.happenings(rig.run_id, ("job_ended", run_facts.COLLECTED)):
        if h.kind == "job_ended":
            done = h.data["kind"] == "done"
        elif done:
            return True
    return False


def _began_afresh(run: RunContext) -> bool:
    return run.job.checkpoints is None or run.job.checkpoints.resume == "fresh"
