"""The NVIDIA GPUs of this machine, as its driver's nvidia-smi lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from trainrig.catalog import normalise
from trainrig.errors import CommandFailed, MissingTool
from trainrig.model.process import Command, Runner

QUERY = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
TIMEOUT_SECONDS = 20
TOLERANCE = 0.15  # between the memory that the driver reports and the nominal one


@dataclass(frozen=True, kw_only=True, slots=True)
class HostGpu:
    name: str  # canonical where the catalogue knows it
    memory_gib: float


def of_this_machine(run: Runner) -> tuple[HostGpu, ...]:
    """All GPUs in the driver's order; none where there is no driver. A machine with different kinds is offered without:
    a node gets GPUs by number, and the numbers would mix the kinds."""
    try:
        outcome = run(Command(argv=QUERY, timeout_seconds=TIMEOUT_SECONDS), check=False)
    except (MissingTool, CommandFailed):
        return ()
    found = parse(outcome.stdout) if outcome.ok else ()
    return found if len(set(found)) <= 1 else ()


def parse(text: str) -> tuple[HostGpu, ...]:
    """`NVIDIA H200, 143771` a line; memory in MiB, `[N/A]` where the GPU shares the host's."""
    rows = (line.rpartition(",") for line in text.splitlines() if "," in line)
    return tuple(_gpu(name.strip(), int(mib) / 1024) for name, _, mib in rows if mib.strip().isdigit())


def _gpu(name: str, memory_gib: float) -> HostGpu:
    for spelling in _spellings(name, memory_gib):
        known = normalise.gpu(spelling)
        if known and abs(known.memory_gib - memory_gib) <= TOLERANCE * known.memory_gib:
            return HostGpu(name=known.name, memory_gib=known.memory_gib)
    return HostGpu(name=name, memory_gib=memory_gib)


def _spellings(name: str, memory_gib: float) -> Iterator[str]:
    """`NVIDIA H100 80GB HBM3` is H100 in the catalogue: ever shorter, with and without the memory."""
    words = re.split(r"[ -]+", name)
    for end in range(len(words), 0, -1):
        stem = "-".join(words[:end])
        yield stem
        for nominal in (16, 24, 32, 40, 48, 80, 96, 141):
            if abs(nominal - memory_gib) <= TOLERANCE * nominal:
                yield f"{stem}-{nominal}GB"
