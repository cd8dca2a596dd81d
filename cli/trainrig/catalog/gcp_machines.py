"""Which GPUs a machine type of Google Cloud has or takes: the API and the price lists name hosts and GPUs apart."""

from __future__ import annotations

import re

_TYPES = (
    (re.compile(r"a2-highgpu-(\d+)g"), "A100"),
    (re.compile(r"a2-megagpu-(\d+)g"), "A100"),
    (re.compile(r"a2-ultragpu-(\d+)g"), "A100-80GB"),
    (re.compile(r"a3-highgpu-(\d+)g"), "H100"),
    (re.compile(r"a3-megagpu-(\d+)g"), "H100-MEGA"),
    (re.compile(r"a3-ultragpu-(\d+)g"), "H200"),
    (re.compile(r"a4-highgpu-(\d+)g"), "B200"),
)
_L4 = {4: 1, 8: 1, 12: 1, 16: 1, 32: 1, 24: 2, 48: 4, 96: 8}  # g2-standard-N: vCPUs -> GPUs
# N1 takes GPUs as an addition; these pairs keep the usual ratio of vCPUs to GPUs.
N1: dict[str, tuple[tuple[str, int], ...]] = {
    "n1-highmem-4": (("T4", 1),),
    "n1-highmem-8": (("T4", 2), ("V100", 1)),
    "n1-highmem-16": (("T4", 4), ("V100", 2)),
    "n1-highmem-32": (("V100", 4),),
    "n1-highmem-64": (("V100", 8),),
}


def own_gpus(machine_type: str) -> tuple[str, int] | None:
    """(GPU, count) of a type that is never sold without; None: it has none of its own."""
    series, _, vcpus = machine_type.rpartition("-")
    if series == "g2-standard" and vcpus.isdigit() and int(vcpus) in _L4:
        return "L4", _L4[int(vcpus)]
    for pattern, name in _TYPES:
        found = pattern.fullmatch(machine_type)
        if found:
            return name, int(found[1])
    return None
