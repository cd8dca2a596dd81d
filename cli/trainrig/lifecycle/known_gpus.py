"""GPU names that mean nothing here: in no table, and in no catalogue on this machine."""

from __future__ import annotations

from collections.abc import Iterable

from trainrig.catalog import normalise
from trainrig.errors import Problem
from trainrig.lifecycle.place import open_index
from trainrig.model.job import Job
from trainrig.spec.accelerators import where_named
from trainrig.spec.nodes import Node


def unheard_of(names: Iterable[str]) -> list[str]:
    """Those that nobody sells. A catalogue may name GPUs that trainrig's table does not have."""
    strange = {name for name in names if normalise.gpu(name) is None}
    if not strange:
        return []
    with open_index() as index:
        return sorted(strange - {m.gpu for m in index.machines() if m.gpu})


def problems(job: Job, root: Node) -> list[Problem]:
    """What is wrong with a job all of whose GPUs are unheard of. Where one is known, `explain` warns of the others."""
    wanted = [gpu.name for option in job.options for gpu in option.gpus]
    if not wanted or None in wanted or any(not option.gpus for option in job.options):
        return []
    strange = unheard_of(name for name in wanted if name)
    if set(strange) != set(wanted):
        return []
    return [
        Problem(
            message=f"the GPU `{name}` is not supported: none is known by that name",
            where=where_named(root, name),
            hint=hint(name),
        )
        for name in strange
    ]


def hint(name: str) -> str:
    near = normalise.near(name)
    return f"did you mean {', '.join(near)}?" if near else "trainrig offers lists what is for sale"
