"""GPU sizes of Azure: which GPU is in them, how many, and which quota family they count against. Pure.

Azure names the GPU nowhere but in the size's name, and its catalogue counts are wrong for some sizes (12 GPUs for the
ND H100 sizes, which have 8), so the counts that are known stand here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    gpu: str
    gpu_memory_gib: float  # of one GPU
    family: str  # the quota's name in the usages API, compared without case and spaces
    gpu_count: int | None = None  # None: as the API says


_SIZES = {
    r"NC\d+ads_A100_v4": Size(gpu="A100-80GB-PCIe", gpu_memory_gib=80, family="StandardNCADSA100v4Family"),
    r"ND96asr_v4": Size(gpu="A100", gpu_memory_gib=40, family="standardNDASv4_A100Family", gpu_count=8),
    r"ND96amsr_A100_v4": Size(gpu="A100-80GB", gpu_memory_gib=80, family="standardNDAMSv4_A100Family", gpu_count=8),
    r"NC(40|80)ad(i)?s_H100_v5": Size(gpu="H100-NVL", gpu_memory_gib=94, family="StandardNCadsH100v5Family"),
    r"ND96isr?_H100_v5": Size(gpu="H100", gpu_memory_gib=80, family="standardNDSH100v5Family", gpu_count=8),
    r"ND96isr_H200_v5": Size(gpu="H200", gpu_memory_gib=141, family="standardNDISRH200V5Family", gpu_count=8),
    r"ND96isr_MI300X_v5": Size(gpu="MI300X", gpu_memory_gib=192, family="standardNDISv5MI300XFamily", gpu_count=8),
    r"NV36adm?s_A10_v5": Size(gpu="A10", gpu_memory_gib=24, family="StandardNVADSA10v5Family", gpu_count=1),
    r"NV72ads_A10_v5": Size(gpu="A10", gpu_memory_gib=24, family="StandardNVADSA10v5Family", gpu_count=2),
    r"NC(8|16|32)ads_A10_v4": Size(gpu="A10", gpu_memory_gib=24, family="StandardNCADSA10v4Family"),
    r"NC\d+as_T4_v3": Size(gpu="T4", gpu_memory_gib=16, family="Standard NCASv3_T4 Family"),
    r"NC\d+r?s_v3": Size(gpu="V100", gpu_memory_gib=16, family="standardNCSv3Family"),
    r"ND40rs_v2": Size(gpu="V100-32GB", gpu_memory_gib=32, family="standardNDSv2Family", gpu_count=8),
}
_PATTERNS = [(re.compile(f"Standard_{pattern}", re.IGNORECASE), size) for pattern, size in _SIZES.items()]


def size_of(instance_type: str) -> Size | None:
    """None: no GPU, a share of one (NV6ads_A10_v5), or a size that is not known here."""
    return next((size for pattern, size in _PATTERNS if pattern.fullmatch(instance_type)), None)


def same_family(one: str, other: str) -> bool:
    """Two APIs spell one family differently."""
    return one.replace(" ", "").lower() == other.replace(" ", "").lower()
