"""Loads what fixes a job's moving parts: its trainrig.lock, else the shipped pins, and the CUDA table."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

from trainrig import assets
from trainrig.catalog import gpus
from trainrig.model.job import Job
from trainrig.render import gate, lockfile


def lock_path(job: Job) -> Path:
    """Beside the job file; in the working directory for a job that has none."""
    return (Path(job.source).parent if job.source else Path()) / lockfile.FILE_NAME


def load_lock(job: Job) -> lockfile.Lock:
    """The job's own lock, which replaces the shipped pins as a whole.

    Raises:
        SpecInvalid: the file is not a lock.
    """
    path = lock_path(job)
    return lockfile.parse(path.read_text(encoding="utf-8"), str(path)) if path.is_file() else shipped()


@cache
def shipped() -> lockfile.Lock:
    path = assets.data("pins.yaml")
    return lockfile.parse(path.read_text(encoding="utf-8"), path.name)


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
    return gate.Matrix.of(yaml.safe_load(assets.data("cuda.yaml").read_text(encoding="utf-8")), needs)


def _dotted(version: tuple[int, int] | None) -> str | None:
    return None if version is None else ".".join(map(str, version))
