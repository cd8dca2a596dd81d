"""Turns a job's secret references into values, just before they travel to a node; nothing else ever sees them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trainrig.console import hide
from trainrig.errors import CredentialsMissing
from trainrig.model.job import Job
from trainrig.render.job_document import secrets_in


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
