"""Which container a job runs in."""

from __future__ import annotations

from trainrig.clouds import registry
from trainrig.errors import SpecInvalid
from trainrig.model.job import Job


def image_of(job: Job, cloud: str) -> str:
    """The job's own image, else the one that the cloud has for jobs that name none.

    Raises:
        SpecInvalid: neither has one.
    """
    if job.image:
        return job.image
    if registry.has(cloud, "built_images"):
        return registry.built_images(cloud).container()
    raise SpecInvalid(
        f"{job.name}: a job on {cloud} must name its container",
        hint="add `image: REGISTRY/NAME@sha256:...` to the job file",
    )
