"""Turns a job's secret references into values, just before they travel to a node; nothing else ever sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trainrig.console import hide
from trainrig.errors import CredentialsMissing
from trainrig.model.job import Job
from trainrig.render.job_document import secrets_in

# What rclone and the hub's clients read: none of it means anything to a node but as a way into the job's stores.
STORE_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "HF_TOKEN",
    "HF_ENDPOINT",
)


def store_variables(job: Job, environ: Mapping[str, str]) -> dict[str, str]:
    """The job's own variables that open its stores. Nothing of this machine's that the job does not name.

    Raises:
        CredentialsMissing: the job names a secret that is not to be found.
    """
    wanted = {name: value for name, value in job.secrets.items() if name in STORE_VARIABLES}
    plain = {name: value for name, value in job.env.items() if name in STORE_VARIABLES}
    return {**plain, **secret_values(replace(job, secrets=wanted), environ)}


def secret_values(job: Job, environ: Mapping[str, str]) -> dict[str, str]:
    """Name -> value; from here on no output has one, nor a plain variable that looks like one.

    Raises:
        CredentialsMissing: naming all that cannot be found, and never a value.
    """
    values: dict[str, str] = {}
    missing: list[str] = []
    for name, reference in job.secrets.items():
        kind, _, rest = reference.partition(":")
        if kind == "value":
            values[name] = rest
        elif kind == "env" and rest in environ:
            values[name] = environ[rest]
        elif kind == "file" and (path := Path(rest).expanduser()).is_file():
            values[name] = path.read_text(encoding="utf-8").strip()
        else:
            missing.append(f"{name} ({reference})")
    if missing:
        hint = "export the variable, or write `secrets: {NAME: file:PATH}`"
        raise CredentialsMissing(f"secrets of {job.name} are missing: {', '.join(missing)}", hint=hint)
    hide({*values.values(), *secrets_in(job)})
    return values
