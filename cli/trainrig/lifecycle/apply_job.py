"""Applies a job: a new rig, or the one that an earlier apply of the same job began."""

from __future__ import annotations

import getpass
from dataclasses import dataclass

from trainrig import settings
from trainrig.errors import RigBusy
from trainrig.lifecycle import pins, run_context
from trainrig.lifecycle.apply import Order, apply
from trainrig.lifecycle.attempt import Up
from trainrig.lifecycle.check_nodes import missing
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.order import order_of
from trainrig.lifecycle.run import placed
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.clock import utc_now
from trainrig.model.environment import Environment
from trainrig.model.job import Job
from trainrig.model.money import dollars
from trainrig.model.rig import RigIdentity, new_run_id
from trainrig.render.identity import identity_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Applied:
    """A rig that is to be applied. `begun`: an earlier apply wrote it down."""

    run: RunContext
    order: Order
    begun: bool

    @property
    def summary(self) -> str:
        """One line for the person who is asked."""
        candidates = self.order.candidates
        first, offer = candidates[0], candidates[0].offer
        machine = f"{first.nodes} x {offer.instance_type} in {offer.cloud} {offer.place}, {offer.market}"
        return (
            f"{self.run.identity.name}: {machine}, {dollars(first.expected_cost_usd)} expected;"
            f" {len(candidates) - 1} fallbacks, at most {dollars(self.order.ceiling)} an hour"
        )


def prepare(context: Context, job: Job, environment: Environment, *, run_id: str | None = None) -> Applied:
    """What an apply of the job would do; nothing is written down yet.

    Raises:
        RigBusy: the name belongs to a rig of another job, or of `trainrig run`.
        Unplaceable: no offer will do.
    """
    known = resumable(context, job)
    if known is not None:
        run = run_context.load(settings.home(), known.run_id, context.observe)
    else:
        job = pins.pinned(job, pins.load_lock(job), context.observe)
        identity = identity_of(
            job, environment, owner=environment.owner or getpass.getuser(), now=utc_now(), run_id=run_id or new_run_id()
        )
        run = RunContext(
            identity=identity,
            job=job,
            environment=environment,
            placement=placed(job, environment),
            observe=context.observe,
        )
    order = order_of(context, run.job, run.environment, run.placement.candidates, identity=run.identity, rig=run.rig)
    return Applied(run=run, order=order, begun=known is not None)


def carry_out(context: Context, applied: Applied) -> Up:
    """See lifecycle/apply.py for what it raises.

    Raises:
        RigBusy: the rig was up before, and has lost nodes since.
    """
    if not applied.begun:
        run_context.save(applied.run)
    up = apply(context, applied.order)
    lost = missing(context, applied.run.identity, up.attempt)
    if lost:
        name = applied.run.identity.name
        raise RigBusy(
            f"{name} is up, but the cloud no longer shows {', '.join(lost)}",
            hint=f"trainrig drift {name} says why; destroy it and apply again",
            details={"nodes": list(lost)},
        )
    return up


def resumable(context: Context, job: Job) -> RigIdentity | None:
    """The identity of a rig of this job that a crash left half-way or that is up; None: there is none."""
    for rig in context.journal.rigs():
        if rig.name != job.name:
            continue
        if rig.details.get("verb") == "run":
            raise RigBusy(
                f"{job.name!r} is the name of a run (run {rig.run_id}, {rig.state})",
                hint=f"trainrig resume {job.name} goes on with it, trainrig destroy {job.name} ends it",
                details={"run_id": rig.run_id},
            )
        if rig.details.get("job_digest") != job.digest:
            raise RigBusy(
                f"{job.name!r} is the name of a rig of another job or version of it (run {rig.run_id}, {rig.state})",
                hint=f"trainrig destroy {job.name}, or give this job another name",
                details={"run_id": rig.run_id},
            )
        return rig.identity
    return None
