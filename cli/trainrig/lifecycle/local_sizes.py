"""How much the local files of a job weigh, for the time that uploading them takes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from pathlib import Path

from trainrig.model.job import Job, Mount

MOST_FILES = 20_000  # more would delay the answer: the size is then a lower bound


def with_local_sizes(job: Job) -> Job:
    """The job with the sizes of local mounts that do not declare one. What cannot be read weighs nothing."""
    return replace(job, mounts=tuple(_sized(m) for m in job.mounts))


def _sized(mount: Mount) -> Mount:
    if mount.size_gb is not None or mount.source is None or "://" in mount.source:
        return mount
    size = sum(islice(_sizes(Path(mount.source)), MOST_FILES))
    return replace(mount, size_gb=Decimal(size) / 10**9)


def _sizes(path: Path) -> Iterator[int]:
    if path.is_file():
        yield path.stat().st_size
    for folder, _folders, files in os.walk(path):
        for name in files:
            try:
                yield (Path(folder) / name).lstat().st_size
            except OSError:
                continue
