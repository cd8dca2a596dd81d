"""What the nodes of a job must be let do by their own identity: the data that it names, and its image."""

from __future__ import annotations

import re
from collections.abc import Iterable

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
    """The image that a node pulls by its own identity; None: the job brings a login, or the cloud gives no identity."""
    own = registry.has(cloud, "image_rights") and not Login.of({**job.env, **job.secrets})
    return job.image if own else None


def image_gap(request: RigRequest) -> str:
    """Why the nodes get no right on an image in their own cloud's registry; empty: they do, or it lies elsewhere."""
    cloud = request.candidate.offer.cloud
    return registry.image_rights(cloud).lacking(request.container, request.account) if request.container else ""
