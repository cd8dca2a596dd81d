"""The gate before any money: does this GPU work under this driver with this container's CUDA?

The answer comes from data/cuda.yaml and catalog/gpus.py, which name their sources. What they do not know is let
through and said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trainrig.render.references import split

Version = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuNeeds:
    """What a GPU needs, whatever it runs; None: not known, or (`cuda_max`) no end in sight."""

    architecture: str
    driver_min: str | None  # "570"
    cuda_min: str | None
    cuda_max: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """data/cuda.yaml and catalog/gpus.py: CUDA toolkit -> driver, oldest first, and GPU -> its needs."""

    version: int
    toolkits: Mapping[str, str]
    major_releases: Mapping[str, str]
    proprietary_module_only: frozenset[str]
    gpus: Mapping[str, GpuNeeds]
    ngc: Mapping[str, str]

    @classmethod
    def of(cls, data: Mapping[str, Any], gpus: Mapping[str, GpuNeeds]) -> Matrix:
        return cls(
            version=data["version"],
            toolkits=data["toolkits"],
            major_releases=data["major_releases"],
            proprietary_module_only=frozenset(data["proprietary_module_only"]),
            gpus=gpus,
            ngc=data["ngc"],
        )

    def newest_cuda(self, driver: str) -> str | None:
        """The newest toolkit that a driver fully runs; None: older than the table."""
        known = [cuda for cuda, needed in self.toolkits.items() if not older(driver, needed)]
        return known[-1] if known else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Mix:
    """What is to work together; None: not known."""

    gpu: str | None
    driver: str | None
    image_cuda: str | None = None
    container_cuda: str | None = None
    open_module: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """`reason` says why it cannot work, and `nearest` what would; `notes` are said either way."""

    reason: str = ""
    nearest: str = ""
    notes: tuple[str, ...] = ()

    @property
    def possible(self) -> bool:
        return not self.reason


def judge(mix: Mix, matrix: Matrix) -> Verdict:
    if mix.gpu is None:
        return Verdict()
    needs = matrix.gpus.get(mix.gpu)
    if needs is None:
        return Verdict(notes=(f"{mix.gpu} is not in the table (version {matrix.version}); nothing was checked",))
    if needs.cuda_min is None:
        return Verdict(reason=f"{mix.gpu} has no CUDA, and the image is made for it", nearest="an NVIDIA GPU")
    if mix.driver is None:
        return Verdict(reason=f"the image has no GPU driver for {mix.gpu}", nearest="an image with one")
    return (
        _module(mix, needs, matrix)
        or _driver(mix, needs, matrix)
        or _container(mix, needs, matrix)
        or Verdict(notes=_notes(mix, matrix))
    )


def _module(mix: Mix, needs: GpuNeeds, matrix: Matrix) -> Verdict | None:
    if not mix.open_module or needs.architecture not in matrix.proprietary_module_only:
        return None
    return Verdict(
        reason=f"the image's open kernel module does not drive {mix.gpu} ({needs.architecture})",
        nearest="an image with NVIDIA's proprietary kernel module",
    )


def _driver(mix: Mix, needs: GpuNeeds, matrix: Matrix) -> Verdict | None:
    assert mix.driver is not None
    if needs.driver_min and older(mix.driver, needs.driver_min):
        return Verdict(
            reason=f"driver {mix.driver} does not know {mix.gpu} ({needs.architecture})",
            nearest=f"driver {needs.driver_min} or newer",
        )
    if mix.image_cuda and (refused := _toolkit(mix.image_cuda, mix.driver, matrix)):
        return Verdict(reason=f"the image is at odds with itself: {refused.reason}", nearest=refused.nearest)
    return None


def _container(mix: Mix, needs: GpuNeeds, matrix: Matrix) -> Verdict | None:
    cuda = mix.container_cuda
    if cuda is None:
        return None
    assert mix.driver is not None
    if needs.cuda_min and version(cuda) < version(needs.cuda_min):
        return Verdict(
            reason=f"CUDA {cuda} of the container makes no code for {mix.gpu} ({needs.architecture})",
            nearest=f"a container with CUDA {needs.cuda_min} or newer",
        )
    if needs.cuda_max and version(cuda) > version(needs.cuda_max):
        return Verdict(
            reason=f"CUDA {cuda} of the container has dropped {mix.gpu} ({needs.architecture})",
            nearest=f"a container with CUDA {needs.cuda_max} or older",
        )
    return _toolkit(cuda, mix.driver, matrix)


def _toolkit(cuda: str, driver: str, matrix: Matrix) -> Verdict | None:
    """A toolkit runs under the driver of its own major release, or a newer one."""
    needed = matrix.major_releases.get(cuda.partition(".")[0])
    if needed is None or not older(driver, needed):
        return None
    newest = matrix.newest_cuda(driver)
    return Verdict(
        reason=f"CUDA {cuda} needs driver {needed} or newer, and the image has {driver}",
        nearest=f"a container with CUDA {newest} or older, or an image with driver {needed} or newer"
        if newest
        else f"an image with driver {needed} or newer",
    )


def _notes(mix: Mix, matrix: Matrix) -> tuple[str, ...]:
    if mix.container_cuda is None:
        return ("the container does not say which CUDA it has; set `pins: {cuda: ...}` to have it checked",)
    assert mix.driver is not None
    own = matrix.toolkits.get(".".join(mix.container_cuda.split(".")[:2]))
    if own and older(mix.driver, own):
        newer = f"CUDA {mix.container_cuda} was made with driver {own}"
        return (f"{newer}; under {mix.driver} what is new in it may be missing",)
    return ()


def container_cuda(reference: str, matrix: Matrix) -> str | None:
    """The CUDA of a container as its name tells it: `...cuda12.4...`, `...cu128...`, nvidia/cuda:12.4.1-..., or the
    month of an NGC container."""
    name, tag, _ = split(reference)
    if tag is None:
        return None
    if found := re.search(r"cuda[-_.]?(\d{2}\.\d+)", tag):
        return found[1]
    if found := re.search(r"(?:^|[^a-z])cu(\d{2})(\d)(?!\d)", tag):
        return f"{found[1]}.{found[2]}"
    if name.endswith("nvidia/cuda") and (found := re.match(r"(\d+\.\d+)", tag)):
        return found[1]
    if name.startswith("nvcr.io/nvidia/") and (found := re.match(r"\d{2}\.\d{2}", tag)):
        return matrix.ngc.get(found[0])
    return None


def older(driver: str, needed: str) -> bool:
    """Whether a driver is older than needed. A branch alone ("580") stands for all of its releases."""
    have = version(driver)
    return have < version(needed)[: len(have)]


def version(text: str) -> Version:
    """`580.126.09` -> (580, 126, 9); what is not a number ends it."""
    parts = []
    for part in text.split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    return tuple(parts)
