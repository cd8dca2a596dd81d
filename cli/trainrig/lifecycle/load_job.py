"""Reads job files and environments from disk, and joins them. Every verb that takes a job gets it here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trainrig import assets
from trainrig.catalog import normalise
from trainrig.console import hide
from trainrig.errors import Problem, SpecInvalid, UsageError
from trainrig.model.environment import Environment
from trainrig.model.job import Job, Mount
from trainrig.render.job_document import secrets_in
from trainrig.render.references import is_recipe
from trainrig.spec.compose import MAX_CHARACTERS, invalid
from trainrig.spec.environment import load_environment
from trainrig.spec.from_flags import JOB_SUFFIXES, JobFlags, spec_from_flags
from trainrig.spec.infra import unknown_cloud
from trainrig.spec.load import JobSpec, load_documents
from trainrig.spec.merge import resolve
from trainrig.spec.nodes import find_scalar

DEFAULT_ENVIRONMENT = "local"


def load_job(
    path: Path | None, environment: str | None = None, overrides: Sequence[str] = (), flags: JobFlags | None = None
) -> tuple[tuple[Job, ...], Environment]:
    """The jobs of a file in the order in which they run, or the one job of the flags, with absolute local paths.

    `environment` is a name or a file; without one, TRAINRIG_ENV, then `local`.

    Raises:
        SpecInvalid, EnvironmentInvalid: with all problems of the file.
        UsageError: no such file, or neither file nor flags.
    """
    flags = flags or JobFlags()
    if path is None and not flags:
        raise UsageError("no job: give a job file, or --gpu and a command", hint="trainrig init writes a job file")
    if path is None and not flags.command:
        raise UsageError("nothing to run", hint="add the command after `--`: --gpu H100:8 -- torchrun train.py")
    found = find_environment(environment)
    specs = (spec_from_flags(flags),) if path is None else load_documents(read(path, "job file"), str(path))
    if flags.command and len(specs) > 1:
        raise UsageError(f"{path} has {len(specs)} jobs, and a command cannot stand for all of them")
    jobs = tuple(resolve(spec, found, overrides, flags) for spec in specs)
    hide(secret for job in jobs for secret in secrets_in(job))
    for spec, job in zip(specs, jobs, strict=True):
        _check_clouds(spec, job)
        _check_gpus(spec, job)
    folder = path.parent if path else Path()
    return tuple(_absolute(job, folder) for job in jobs), found


def find_environment(name: str | None) -> Environment:
    """`--env`, else TRAINRIG_ENV, else `local`: a file, ./environments/NAME.yaml, or a shipped one."""
    wanted = name or os.environ.get("TRAINRIG_ENV") or DEFAULT_ENVIRONMENT
    if wanted.endswith(JOB_SUFFIXES) or os.sep in wanted:
        return load_environment(read(Path(wanted), "environment"), wanted)
    folders = (Path("environments"), assets.path("environments"))
    for folder in folders:
        if (path := folder / f"{wanted}.yaml").is_file():
            return load_environment(read(path, "environment"), str(path))
    known = sorted({p.stem for folder in folders for p in folder.glob("*.yaml")})
    raise UsageError(f"no environment {wanted!r}", hint=f"known: {', '.join(known)}; or give a file")


def read(path: Path, what: str) -> str:
    """The text of a file, refused when it is too big or not text."""
    try:
        with path.open("rb") as f:
            data = f.read(4 * MAX_CHARACTERS + 1)
    except FileNotFoundError:
        raise UsageError(f"no {what} {path}", hint="check the path, or write one with: trainrig init") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder", hint=f"give the {what} inside of it") from None
    except OSError as error:
        raise UsageError(f"{what} {path}: {error.strerror}") from None
    return decode(data, path, what)


def decode(data: bytes, path: Path, what: str) -> str:
    """Raises SpecInvalid for what is too big or not UTF-8."""
    if len(data) > 4 * MAX_CHARACTERS:
        raise SpecInvalid(f"{path}: too big for a {what}: at most {MAX_CHARACTERS:,} characters")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SpecInvalid(f"{path}: line {line} is not UTF-8", hint="save the file as UTF-8") from None


def _check_clouds(spec: JobSpec, job: Job) -> None:
    unknown = {o.cloud for o in job.options if o.cloud and unknown_cloud(o.cloud, frozenset())}
    if not unknown:
        return
    from trainrig.clouds import registry  # asks for entry points, which takes a while

    known = frozenset(registry.names())
    for cloud in sorted(unknown - known):
        problem = Problem(
            message=f"unknown cloud `{cloud}`",
            where=find_scalar(spec.root, ("infra", "cloud"), cloud),
            hint=unknown_cloud(cloud, known) or "",
        )
        raise invalid(spec.file, [problem])


def _check_gpus(spec: JobSpec, job: Job) -> None:
    if all(gpu.name is None or normalise.gpu(gpu.name) for option in job.options for gpu in option.gpus):
        return
    from trainrig.lifecycle import known_gpus  # opens the catalogue

    if problems := known_gpus.problems(job, spec.root):
        raise invalid(spec.file, problems)


def _absolute(job: Job, folder: Path) -> Job:
    """Local paths of this machine: from where trainrig was started, as in SkyPilot, or else beside the job file."""
    workdir = job.workdir if job.workdir is None or _is_url(job.workdir) else _expand(job.workdir, folder)
    image = _expand(job.image, folder) if job.image and is_recipe(job.image) else job.image
    return replace(job, workdir=workdir, image=image, mounts=tuple(_absolute_mount(m, folder) for m in job.mounts))


def _absolute_mount(mount: Mount, folder: Path) -> Mount:
    if mount.source is None or _is_url(mount.source):
        return mount
    return replace(mount, source=_expand(mount.source, folder))


def _is_url(text: str) -> bool:
    return "://" in text or text.startswith("git@")


def _expand(text: str, folder: Path) -> str:
    try:
        path = Path(text).expanduser()
    except RuntimeError:  # ~somebody, who is not there
        path = Path(text)
    beside = folder / path
    return str((beside if beside.exists() and not path.exists() else path).absolute())
