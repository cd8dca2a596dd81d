"""A job without a file: `trainrig run --gpu H100:8 --max-cost 40 --timeout 10h -- torchrun train.py`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from trainrig.spec.load import JobSpec
from trainrig.spec.nodes import Map, Source

JOB_SUFFIXES: Final = (".yaml", ".yml", ".json")


@dataclass(frozen=True, kw_only=True, slots=True)
class JobFlags:
    """What the command line says about the job itself. Also beside a job file, whose keys it overrides."""

    gpu: str | None = None
    max_cost: str | None = None
    timeout: str | None = None
    image: str | None = None
    command: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != JobFlags()

    def keys(self) -> Iterator[tuple[str, tuple[str, ...], str]]:
        """What is given: the option, the path of the key that it sets in a job file, and the value."""
        found = (
            ("--gpu", ("resources", "accelerators"), self.gpu),
            ("--max-cost", ("budget",), self.max_cost),
            ("--timeout", ("timeout",), self.timeout),
            ("--image", ("image",), self.image),
            ("--", ("run",), self.script()),
        )
        return ((option, path, value) for option, path, value in found if value is not None)

    def script(self) -> str | None:
        """The command as a shell script: one word is a script already, several are quoted one by one."""
        if not self.command:
            return None
        return self.command[0] if len(self.command) == 1 else shlex.join(self.command)


def spec_from_flags(flags: JobFlags) -> JobSpec:
    """An empty spec, named after the script or program that the command starts; `resolve` adds the flags."""
    words = [word for part in flags.command for word in part.split()]
    scripts = [word for word in words if word.endswith((".py", ".sh"))]
    stem = PurePath((scripts or words or ["job"])[0]).stem
    name = re.sub(r"[^A-Za-z0-9]+", "-", stem).strip("-")[:60].strip("-")
    return JobSpec(root=Map(entries=(), source=Source(file="the command line")), default_name=name or "job")


def job_and_flags(
    words: Sequence[str] | None,
    *,
    gpu: str | None = None,
    max_cost: str | None = None,
    timeout: str | None = None,
    image: str | None = None,
) -> tuple[Path | None, JobFlags]:
    """The job file and the flags of `[JOB] [options] [-- CMD...]`, for load_job.

    The first word is a job file when it looks like one, and also when no option describes a job in its stead.
    """
    words = words or ()
    described = any(option is not None for option in (gpu, max_cost, timeout, image))
    is_file = bool(words) and (words[0].endswith(JOB_SUFFIXES) or not described)
    command = tuple(words[1:] if is_file else words)
    flags = JobFlags(gpu=gpu, max_cost=max_cost, timeout=timeout, image=image, command=command)
    return (Path(words[0]) if is_file else None), flags
