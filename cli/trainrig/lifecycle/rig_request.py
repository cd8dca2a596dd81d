"""Joins a job, its environment, a candidate and the lock into the request that a root is rendered from."""

from __future__ import annotations

import re
from collections.abc import Iterable

from trainrig.clouds import registry
from trainrig.errors import Unplaceable
from trainrig.lifecycle import pins
from trainrig.model.environment import Environment
from trainrig.model.fabric import ETHERNET, Fabric
from trainrig.model.job import Job
from trainrig.model.offer import Offer
from trainrig.model.placement import Candidate
from trainrig.model.rig import RigIdentity
from trainrig.render.images import ImageChoice, choose, option_of
from trainrig.render.lockfile import Lock
from trainrig.render.request import PinnedImage, RigRequest
from trainrig.tools.container import Login

_BUCKETS = ("s3://", "gs://", "az://")
_AZURE = re.compile(r"https?://([^/.]+)\.blob\.core\.windows\.net/")


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
        checkpoint_prefix=_checkpoint_prefix(job, environment, identity),
        read_write_urls=_written(job),
        read_only_urls=_read_only(job),
        container=_pulled(job, offer.cloud),
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


def _written(job: Job) -> tuple[str, ...]:
    """What the nodes' identity may read and write: buckets that are mounted, unless the job says that it only reads."""
    return _buckets(job, (m.source for m in job.mounts if m.source and m.is_written))


def _read_only(job: Job) -> tuple[str, ...]:
    """What it may read: buckets that are copied or mounted to be read, and those that the job reads by itself."""
    urls = _buckets(job, (*(m.source for m in job.mounts if m.source), *job.inputs))
    return tuple(sorted({*urls} - {*_written(job)}))


def _buckets(job: Job, urls: Iterable[str]) -> tuple[str, ...]:
    """Those in stores of clouds, each once, in one spelling. What lies at `s3_endpoint` is opened by the job's own
    keys: a bucket of that name on AWS is somebody else's."""
    found = {_AZURE.sub(r"az://\1/", url).rstrip("/") for url in urls}
    theirs = tuple(scheme for scheme in _BUCKETS if scheme != "s3://" or not job.s3_endpoint)
    return tuple(sorted(url for url in found if url.startswith(theirs)))


def _pulled(job: Job, cloud: str) -> str | None:
    """The image that a node pulls by its own identity; None: the job brings a login, or the cloud gives no identity."""
    own = registry.has(cloud, "image_rights") and not Login.of({**job.env, **job.secrets})
    return job.image if own else None


def image_gap(request: RigRequest) -> str:
    """Why the nodes get no right on an image in their own cloud's registry; empty: they do, or it lies elsewhere."""
    cloud = request.candidate.offer.cloud
    return registry.image_rights(cloud).lacking(request.container, request.account) if request.container else ""


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


def _checkpoint_prefix(job: Job, environment: Environment, identity: RigIdentity) -> str | None:
    store = (job.checkpoints.store if job.checkpoints else None) or environment.checkpoint_store
    if store is None or not store.startswith(_BUCKETS):
        return None
    return f"{store.rstrip('/')}/{identity.run_id}/"
