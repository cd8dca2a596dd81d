"""A rig of the journal with all that its nodes need to be configured, checked or entered again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from trainrig.errors import RigUnknown
from trainrig.lifecycle import configure as configuring
from trainrig.lifecycle import host_keys, job_image, pins, rig_request, run_context, run_facts, verify
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.run_context import RunContext
from trainrig.lifecycle.secret_values import store_variables
from trainrig.model.evidence import Evidence
from trainrig.model.fabric import Fabric
from trainrig.model.offer import Offer
from trainrig.store import locks
from trainrig.store.journal import Attempt, AttemptState
from trainrig.tools.ssh import Ssh, connect


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    run: RunContext
    attempt: Attempt
    offer: Offer
    image: str  # the container
    driver: str | None  # in the machine image; None: no GPU, or not known
    fabric: Fabric
    bucket: str | None  # that the nodes write to by themselves


def site_of(context: Context, name: str) -> Site:
    """Raises RigUnknown when there is no such rig, or none of its attempts is up."""
    run = run_context.load(context.home, name, context.observe)
    attempt = host_keys.learn(context, up(context, run.run_id))
    offer = run_facts.candidate_of(run.placement, attempt).offer
    return Site(
        run=run,
        attempt=attempt,
        offer=offer,
        image=job_image.image_of(run.job, attempt.cloud),
        driver=driver_of(run, offer),
        fabric=rig_request.fabric_of(run.job, run.environment.using(attempt.cloud, attempt.account), offer),
        bucket=rig_request.bucket_of(run.job, run.environment, run.identity, offer),
    )


def driver_of(run: RunContext, offer: Offer) -> str | None:
    """The GPU driver of the machine image that was locked for the offer."""
    if not offer.gpu_count or offer.cloud == "local":
        return None
    image = rig_request.image_choice(run.job, offer, pins.load_lock(run.job)).image
    return image.driver if image else None


def up(context: Context, run_id: str) -> Attempt:
    attempts = [a for a in context.journal.attempts(run_id) if a.state is AttemptState.UP]
    if not attempts:
        rig = context.journal.rig(run_id)
        raise RigUnknown(f"{rig.name} has no nodes: it is {rig.state}", hint="trainrig status shows what became of it")
    return attempts[-1]


def configure(context: Context, name: str) -> Evidence:
    """Converges the nodes of a rig that is up and checks them.

    Where a check fails on a node that had seemed unmoved, or did when it was last asked, all roles run: checks look
    further than the digest by which a node knows itself.

    Raises:
        RigUnknown, RigBusy: there is no such rig, or another verb works on it.
        ConfigureFailed: a node did not answer, a task failed, or a node is not as promised.
    """
    site = site_of(context, name)
    with locks.hold(site.run.rig.path, "configure"):
        last = verify.stored(site.run.rig.path)
        doubted = last is not None and any(node.failures for node in last.nodes)
        evidence = _converged(context, site, always=doubted)
        if not doubted and any(node.failures for node in evidence.nodes):
            evidence = _converged(context, site, always=True)
    verify.require(evidence)
    return evidence


def _converged(context: Context, site: Site, *, always: bool) -> Evidence:
    job, observe = site.run.job, context.observe
    ssh = configuring.configure(
        site.run.rig.path,
        job,
        site.offer,
        site.attempt.node_list,
        site.image,
        observe,
        driver=site.driver,
        fabric=site.fabric,
        bucket=site.bucket,
        secrets=store_variables(job, os.environ),
        always=always,
    )
    try:
        return verify.accept(ssh, job, site.offer, site.image, observe, driver=site.driver, bucket=site.bucket)
    finally:
        ssh.close()


def verify_rig(context: Context, name: str) -> Evidence:
    """Checks the nodes of a rig that is up, and changes nothing on them.

    Raises:
        RigUnknown: there is no such rig.
        ConfigureFailed: a node did not answer.
    """
    site = site_of(context, name)
    rig = site.run.rig.path
    # Not closed: the process that carries the rig's run out has a share in its connections.
    ssh = configuring.open_ssh(rig, site.attempt.node_list, context.observe, ready_seconds=30)
    return verify.verify(
        ssh,
        site.run.job,
        site.offer,
        site.image,
        context.observe,
        driver=site.driver,
        fabric=site.fabric,
        bucket=site.bucket,
    )


def way_in(context: Context, name: str, rank: int, forward: Sequence[int] = ()) -> list[str]:
    """The ssh command line that opens a node. Ports of `forward` are brought here: a job's container has its node's own
    network.

    Raises:
        RigUnknown: there is no such rig, or it has no node of that rank.
    """
    rig = context.journal.find(name)
    nodes = host_keys.learn(context, up(context, rig.run_id)).node_list
    node = next((n for n in nodes if n.rank == rank), None)
    if node is None:
        raise RigUnknown(f"{rig.name} has no node of rank {rank}", hint=f"it has ranks 0 to {len(nodes) - 1}")
    ssh: Ssh = connect(context.rig_dir(rig.identity).path, nodes)
    return ssh.argv(node, *(word for port in forward for word in ("-L", f"localhost:{port}:localhost:{port}")))
