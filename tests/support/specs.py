"""Job files as one-liners for tests of the reader."""

from __future__ import annotations

import pytest

from trainrig.errors import SpecInvalid
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.job import Job, ResourceOption
from trainrig.spec.load import load_documents
from trainrig.spec.merge import resolve

ANYWHERE = Environment(name="anywhere", clouds=(CloudPolicy(cloud="local"),))


def job(text: str, *overrides: str, environment: Environment = ANYWHERE) -> Job:
    (spec,) = load_documents(text, "job.yaml")
    return resolve(spec, environment, overrides)


def options(resources: str) -> tuple[ResourceOption, ...]:
    """Of a file whose `resources` are this flow mapping."""
    return job(f"run: x\nresources: {resources}\n").options


def problems(text: str, *overrides: str) -> list[str]:
    """`line:column message` of all that is wrong."""
    with pytest.raises(SpecInvalid) as caught:
        job(text, *overrides)
    return [f"{p.where.line}:{p.where.column} {p.message}" if p.where else p.message for p in caught.value.problems]
