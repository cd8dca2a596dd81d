"""What the nodes of a job must be let do by their own identity: the data that it names, and its image."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from trainrig.clouds import registry
from trainrig.model.job import Job
from trainrig.render.request import RigRequest
from trainrig.tools.container import Login

BUCKETS = ("s3://", "gs://", "az://")
_AZURE = re.compile(r"https?://([^/.]+)\.blob\.core\.windows\.net/")


def written(job: Job) -> tuple[str, ...]:
    """To read and write: buckets that are mounted, unless the job says that it only reads."""
    return _buckets(job, (m.source for m in job.mounts if m.source and m.is_written))


def read_only(job: Job) -> tuple[str, ...]:
    """To read: buckets that are copied or mounted to be read, and those that the job reads by itself."""
    urls = _buckets(job, (*(m.source for m in job.mounts if m.source), *job.inputs))
    return tuple(sorted({*urls} - {*written(job)}))


def _buckets(job: Job, urls: Iterable[str]) -> tuple[str, ...]:
    """Those in stores of clouds, each once, in one spelling. What lies at `s3_endpoint` is opened by the job's own
    keys: a bucket of that name on AWS is somebody else's."""
    found = {_AZURE.sub(r"az://\1/", url).rstrip("/") for url in urls}
    theirs = tuple(scheme for scheme in BUCKETS if scheme != "s3://" or not job.s3_endpoint)
    return tuple(sorted(url for url in found if url.startswith(theirs)))


def pulled(job: Job, cloud: str) -> str | None:
    """The image that a node pulls by itself; None: the job brings a login, or this machine sends it."""
    if registry.has(cloud, "built_images") or Login.of({**job.env, **job.secrets}):
        return None
    return job.image


def image_gap(image: str, cloud: str, account: Mapping[str, str]) -> str:
    """Why the nodes cannot pull an image from a cloud's registry, and what to do; empty: they can, or it is in none."""
    if registry.has(cloud, "image_rights") and (why := registry.image_rights(cloud).lacking(image, account)):
        return why
    others = (c for c in registry.names() if c != cloud and registry.has(c, "image_rights"))
    of = next((c for c in others if _lies_in(c, image)), None)
    if of is None:
        return ""
    return (
        f"the image lies in a registry of {registry.facts(of).title}, where nodes on {registry.facts(cloud).title} "
        "have no login of their own. Fine if everybody may read it; else give one in the job's secrets "
        "(SKYPILOT_DOCKER_USERNAME, _PASSWORD, _SERVER)"
    )


def gap_of(request: RigRequest) -> str:
    """The same of a rig."""
    cloud = request.candidate.offer.cloud
    return image_gap(request.container, cloud, request.account) if request.container else ""


def _lies_in(cloud: str, image: str) -> bool:
    """Whether it is in the registry of a cloud: for any account a right there is either granted or lacking."""
    rights = registry.image_rights(cloud)
    return bool(rights.variables(image, {}) or rights.lacking(image, {}))
