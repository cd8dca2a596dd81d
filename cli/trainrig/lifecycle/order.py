"""Turns a placed job into an order for apply: who the rig is, and how each candidate's root is made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trainrig.lifecycle import pins
from trainrig.lifecycle.apply import Order
from trainrig.lifecycle.caller import ssh_ingress
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.node_rights import gap_of
from trainrig.lifecycle.quotes import quotes
from trainrig.lifecycle.render_rig import render_rig
from trainrig.lifecycle.rig_request import rig_request
from trainrig.model.environment import Environment
from trainrig.model.events import Progress
from trainrig.model.job import Job
from trainrig.model.placement import Candidate
from trainrig.model.rig import RigIdentity
from trainrig.render.lockfile import Lock
from trainrig.store.workdir import RigDir
from trainrig.tools import ssh


def order_of(
    context: Context,
    job: Job,
    environment: Environment,
    candidates: Sequence[Candidate],
    *,
    identity: RigIdentity,
    rig: RigDir,
    generation: int = 1,
    lock: Lock | None = None,
) -> Order:
    """`candidates` in the order in which they are tried; `lock` in place of the job's own."""
    pinned = lock or pins.load_lock(job)

    def make_root(candidate: Candidate, root: Path, attempt: str) -> None:
        request = rig_request(
            job,
            environment,
            candidate,
            identity=identity,
            ssh_public_key=ssh.make_key(rig.path),
            ssh_ingress_cidrs=ssh_ingress(environment, candidate.offer.cloud),
            lock=pinned,
        )
        if gap := gap_of(request):
            context.observe(Progress(phase="apply", message=gap))
        render_rig(request, job=job, environment=environment, out=root, attempt=attempt, lock=pinned)

    return Order(
        identity=identity,
        candidates=tuple(candidates),
        make_root=make_root,
        generation=generation,
        quote=quotes(context, candidates, environment),
        details={"job": job.name, "job_digest": job.digest},
    )
