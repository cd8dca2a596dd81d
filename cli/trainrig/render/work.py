"""What a job does with its rig, for who approves it: commands, data, secrets by name, limits, and who gets in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from trainrig.model.job import Job
from trainrig.render.job_document import secrets_in
from trainrig.render.redact import redactor
from trainrig.render.request import RigRequest


def work(job: Job, request: RigRequest) -> dict[str, str]:
    """In the order in which it is read. Without secrets: of them the names, and where each is found."""
    clean = redactor(secrets_in(job))
    shown = {name: clean.text(text) for name, text in _commands(job)}
    variables = clean.document(dict(sorted(job.env.items())))
    shown |= {f"variable {name}": value for name, value in variables.items()}
    for name, reference in sorted(job.secrets.items()):
        shown[f"secret {name}"] = f"env:{name}" if reference.startswith("value:") else reference
    shown |= {name: clean.text(text) for name, text in _data(job, request)}
    return shown | dict(_limits(job)) | {"SSH from": ", ".join(request.ssh_ingress_cidrs) or "nowhere"}


def _commands(job: Job) -> Iterator[tuple[str, str]]:
    for name, text in (("setup", job.setup), ("command", job.run), ("launch", job.launch)):
        if text:
            yield name, text.strip()
    if job.container_options:
        yield "container options", " ".join(job.container_options)


def _data(job: Job, request: RigRequest) -> Iterator[tuple[str, str]]:
    if job.workdir:
        at = f" at {job.workdir_ref}" if job.workdir_ref else ""
        yield "code", f"{_place(job.workdir)}{at}"
    for mount in job.mounts:
        yield f"mount {mount.target}", f"{_place(mount.source or mount.name or 'a new bucket')} ({mount.mode.value})"
    if request.checkpoint_prefix:
        yield "may write to", request.checkpoint_prefix
    if request.read_write_urls:
        yield "may also write to", ", ".join(request.read_write_urls)
    for name, path in sorted(job.outputs.items()):
        yield f"output {name}", path


def _place(source: str) -> str:
    """A local path by its last part: where it lies on the machine that plans is nobody's business."""
    return source if "://" in source or source.startswith("git@") else f".../{PurePath(source).name}"


def _limits(job: Job) -> Iterator[tuple[str, str]]:
    limits = {
        "budget": None if job.budget_usd is None else f"{job.budget_usd} USD",
        "deadline": None if job.deadline is None else job.deadline.isoformat(),
        "timeout": None if job.timeout_seconds is None else f"{job.timeout_seconds} s",
        "expected hours": job.expected_hours,
        "at most recoveries": job.recovery.max_recoveries,
    }
    yield from ((name, str(value)) for name, value in limits.items() if value is not None)
