"""Names as they come from clouds, catalogues and job files, made canonical. The same part has one name everywhere, and
two parts never share one."""

from __future__ import annotations

import re
from functools import cache

from trainrig.catalog.gpus import TABLE, Gpu

# What a cloud calls by the bare family name although it is another part. (cloud, instance type, name there) -> name.
_PARTS: tuple[tuple[str, str, str, str], ...] = (
    ("azure", r"Standard_NC\d+adi?s_H100_v5", "H100", "H100-NVL"),
    ("azure", r"Standard_NC\d+ads_A100_v4", "A100-80GB", "A100-80GB-PCIe"),
    ("lambda", r"gpu_[124]x_a100", "A100", "A100-PCIe"),
    ("lambda", r"gpu_\d+x_h100_pcie", "H100", "H100-PCIe"),
    ("runpod", r"\d+x_A100-80GB_.*", "A100-80GB", "A100-80GB-PCIe"),
    ("runpod", r"\d+x_H100_.*", "H100", "H100-PCIe"),
)

_LOOK_ALIKE = str.maketrans("oil", "011")  # typed for the digit


def _key(name: str) -> str:
    """What two spellings of one name have in common."""
    bare = re.sub(r"^(nvidia|amd)[\s_-]+", "", name.strip().lower())
    return re.sub(r"[\s_-]+", "", bare)


@cache
def _names() -> dict[str, Gpu]:
    return {_key(alias): gpu for gpu in TABLE for alias in (gpu.name, f"tesla-{gpu.name}", *gpu.aliases)}


@cache
def gpu(name: str) -> Gpu | None:
    """What is known of a GPU, by its canonical name or any spelling of it."""
    return _names().get(_key(name))


def canonical(name: str) -> str:
    """The canonical name of a GPU, or the name as it is when the table does not have it."""
    known = gpu(name)
    return known.name if known else name.strip()


def near(name: str) -> list[str]:
    """The canonical names that a misspelt one may mean, the likeliest first; at most three."""
    from difflib import get_close_matches

    word = _key(name)
    alike = word.translate(_LOOK_ALIKE)
    if alike in (known := _names()):
        return [known[alike].name]
    close = get_close_matches(word, list(known), n=6, cutoff=0.6)
    return list(dict.fromkeys(known[key].name for key in close))[:3]


def gpu_of(cloud: str, instance_type: str, name: str) -> str:
    """The canonical name of the GPU in a machine that a catalogue lists: corrects what the cloud blurs."""
    plain = canonical(name)
    for its_cloud, pattern, there, part in _PARTS:
        if cloud == its_cloud and plain == there and re.fullmatch(pattern, instance_type):
            return part
    return plain


def nominal_memory_gib(name: str | None, reported_gib: float | None) -> float | None:
    """Memory of one GPU as jobs ask for it: what the maker says, else what the catalogue reports."""
    known = gpu(name) if name else None
    return known.memory_gib if known else reported_gib
