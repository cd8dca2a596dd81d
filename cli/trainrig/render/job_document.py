"""A job as a JSON document: what lies beside a rendered root as job.json. Values of secrets are never in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from trainrig.model.clock import iso
from trainrig.model.job import Job

SCHEMA = "trainrig.job/1"


def to_document(job: Job) -> dict[str, Any]:
    """Decimals are strings, times ISO 8601, `secrets` the sorted names alone."""
    document = {"schema": SCHEMA, **plain(job)}
    document["secrets"] = sorted(job.secrets)
    return document


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
