"""A job as a JSON document: what lies beside a rendered root as job.json, for people. No secret is in it, neither of
`secrets` nor what looks like one in `envs` or a script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from trainrig.model.clock import iso
from trainrig.model.job import Job
from trainrig.render.redact import named_secrets, redactor

SCHEMA = "trainrig.job/1"


def to_document(job: Job) -> dict[str, Any]:
    """Decimals are strings, times ISO 8601, `secrets` the sorted names alone."""
    masked: dict[str, Any] = redactor(secrets_in(job)).document({"schema": SCHEMA, **plain(job)})
    return masked | {"secrets": sorted(job.secrets)}


def secrets_in(job: Job) -> set[str]:
    """What a job file holds in clear of secrets: values of `secrets`, and variables that should have been there."""
    written = {reference for reference in job.secrets.values() if reference.startswith("value:")}
    return {reference.removeprefix("value:") for reference in written} | named_secrets(job.env)


def plain(value: Any) -> Any:
    """A model object as JSON values; mappings lose their order, since theirs means nothing."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime):
        return iso(value)
    return value
