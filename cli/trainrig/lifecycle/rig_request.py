"""Joins a job, its environment, a candidate and the lock into the request that a root is rendered from."""

from __future__ import annotations

from trainrig.clouds import registry
from trainrig.errors import Unplaceable
from trainrig.lifecycle import node_rights, pins
from trainrig.model.environment import Environment
from trainrig.model.fabric import ETHERNET, Fabric
from trainrig.model.job import Job
from trainrig.model.offer import Offer
from trainrig.model.placement import Candidate
from trainrig.model.rig import RigIdentity
from trainrig.render.images import ImageChoice, choose, option_of
from trainrig.render.lockfile import Lock
from trainrig.render.request import PinnedImage, RigRequest


def rig_request(
    job: Job,
    environment: Environment,
    candidate: Candidate,
    *,
    identity: RigIdentity,
    ssh_public_key: str,
    ssh_ingress_cidrs: tuple[str, ...],
    lock: Lock | None = None,
) -> RigRequest:
    """`lock` is the job's, read once for several candidates.

    Raises:
        Unplaceable: no machine image is locked that this candidate and the job's container can share.
        SpecInvalid: the container moves, and the lock does not hold it.
    """
    environment = environment.using(candidate.offer.cloud, candidate.account)
    offer, lock = candidate.offer, pins.load_lock(job) if lock is None else lock
    pins.pinned(job, lock)
    option = option_of(job, offer)
    policy = environment.policy(offer.cloud)
    return RigRequest(
        identity=identity,
        candidate=candidate,
        nodes=candidate.nodes,
        disk_gb=option.disk_gb,
        image=_image(job, offer, lock),
        ssh_public_key=ssh_public_key,
        ssh_ingress_cidrs=environment.ssh_ingress or ssh_ingress_cidrs,
        lease_seconds=min(job.lease_seconds or environment.lease_seconds, environment.max_lease_seconds),
        checkpoint_prefix=_granted_prefix(job, environment, identity),
        read_write_urls=node_rights.written(job),
        read_only_urls=node_rights.read_only(job),
        container=node_rights.pulled(job, offer.cloud),
        existing_network=existing_network(job, environment, offer.cloud),
        reservation=option.reservation,
        account=dict(policy.account) if policy else {},
    )


def existing_network(job: Job, environment: Environment, cloud: str) -> dict[str, str]:
    """The cloud's own ids of what a rig is made in, empty where it gets a network of its own; the job's win."""
    policy = environment.policy(cloud)
    return {**(policy.network if policy else {}), **job.network}


def fabric_of(job: Job, environment: Environment, offer: Offer) -> Fabric:
    """The network between the nodes that the job's rig has on this offer."""
    if not registry.has(offer.cloud, "fabric"):
        return ETHERNET
    return registry.fabric(offer.cloud).fabric(offer, job.nodes, existing_network(job, environment, offer.cloud))


def bucket_of(job: Job, environment: Environment, identity: RigIdentity, offer: Offer) -> str | None:
    """The rig's place in the checkpoint store, where its nodes may write there themselves: by the identity that the
    offer's cloud gives them, or by the job's own variables at its `s3_endpoint`."""
    prefix = _checkpoint_prefix(job, environment, identity)
    if prefix is None:
        return None
    scheme = prefix.partition("://")[0]
    own = scheme in registry.tariff(offer.cloud).schemes
    return prefix if own or (scheme == "s3" and job.s3_endpoint) else None


def image_choice(job: Job, offer: Offer, lock: Lock) -> ImageChoice:
    """The machine image for an offer, or why there is none."""
    return choose(offer, job, lock, pins.matrix())


def _image(job: Job, offer: Offer, lock: Lock) -> PinnedImage:
    if registry.has(offer.cloud, "built_images"):
        # Made on this machine and named by the digest of its recipe: as exact as a lock.
        reference = registry.built_images(offer.cloud).machine()
        return PinnedImage(id=reference, name=reference)
    choice = image_choice(job, offer, lock)
    if choice.image is None:
        raise Unplaceable(
            f"{offer.cloud} {offer.place} {offer.instance_type}: {choice.detail}",
            details={"code": choice.code.value if choice.code else "no_image"},
        )
    return choice.image


def _granted_prefix(job: Job, environment: Environment, identity: RigIdentity) -> str | None:
    """The same, where a right of a cloud opens it: at an `s3_endpoint` the job's keys do, and a bucket of that name on
    AWS is somebody else's."""
    prefix = _checkpoint_prefix(job, environment, identity)
    return None if prefix and prefix.startswith("s3://") and job.s3_endpoint else prefix


def _checkpoint_prefix(job: Job, environment: Environment, identity: RigIdentity) -> str | None:
    store = (job.checkpoints.store if job.checkpoints else None) or environment.checkpoint_store
    if store is None or not store.startswith(node_rights.BUCKETS):
        return None
    return f"{store.rstrip('/')}/{identity.run_id}/"
