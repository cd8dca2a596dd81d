"""Loads what fixes a job's moving parts: its trainrig.lock, else the shipped pins, and the CUDA table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from trainrig import assets
from trainrig.catalog import gpus
from trainrig.clouds import registry
from trainrig.errors import SpecInvalid
from trainrig.model.events import Observer, silent
from trainrig.model.job import Job
from trainrig.render import gate, lockfile, references
from trainrig.tools import container


def lock_path(job: Job) -> Path:
    """Beside the job file; in the working directory for a job that has none."""
    return (Path(job.source).parent if job.source else Path()) / lockfile.FILE_NAME


def load_lock(job: Job, clouds: tuple[str, ...] | None = None) -> lockfile.Lock:
    """The job's own lock, which replaces the shipped pins as a whole, those of `clouds` or of all.

    Raises:
        SpecInvalid: the file is not a lock.
    """
    path = lock_path(job)
    return lockfile.parse(path.read_text(encoding="utf-8"), str(path)) if path.is_file() else shipped(clouds)


@cache
def shipped(clouds: tuple[str, ...] | None = None) -> lockfile.Lock:
    """data/pins.yaml and the pins.yaml of each cloud's own folder. To find all clouds takes longer than to place a job,
    so who knows which ones matter names them."""
    names = registry.names() if clouds is None else clouds
    files = [
        assets.data("pins.yaml"),
        *(path for name in names if (path := registry.file(name, "pins.yaml"))),
    ]
    locks = [lockfile.parse(path.read_text(encoding="utf-8"), path.name) for path in files]
    return lockfile.Lock(
        providers={address: pin for lock in locks for address, pin in lock.providers.items()},
        images=tuple(image for lock in locks for image in lock.images),
    )


@cache
def matrix() -> gate.Matrix:
    needs = {
        gpu.name: gate.GpuNeeds(
            architecture=gpu.architecture,
            driver_min=str(gpu.first_driver) if gpu.first_driver else None,
            cuda_min=_dotted(gpu.first_cuda),
            cuda_max=_dotted(gpu.last_cuda),
        )
        for gpu in gpus.TABLE
    }
    return gate.Matrix.of(lockfile.plain(assets.data("cuda.yaml").read_text(encoding="utf-8")), needs)


def _dotted(version: tuple[int, int] | None) -> str | None:
    return None if version is None else ".".join(map(str, version))


def pinned(job: Job, lock: lockfile.Lock, observe: Observer = silent) -> Job:
    """The job with its container as the lock has it. One that is a Dockerfile is built, and named by the result's id.

    Raises:
        SpecInvalid: the container moves and the lock does not hold it, or it does not build.
    """
    if job.image is None:
        return job
    if references.is_recipe(job.image):
        return replace(job, image=container.build(Path(job.image), job.name, observe))
    digest = lock.containers.get(job.image)
    if digest is not None:
        return replace(job, image=references.with_digest(job.image, digest))
    if why := references.container_floats(job.image):
        raise SpecInvalid(
            f"the container {job.image} is not exact: {why}",
            hint="`trainrig lock` pins it, or write NAME:VERSION or NAME@sha256:... in the job file",
        )
    return job


def notes(job: Job) -> Iterator[str]:
    """What is exact enough to go on with, and should still be said."""
    if job.image and references.container_loose(job.image):
        yield f"{job.image} is held by its tag alone, which its publisher can move; `trainrig lock` pins it"
