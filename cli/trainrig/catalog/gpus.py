"""The GPUs that offers and jobs name: memory, architecture, form factor, and the first driver and CUDA that know them.

Sources: NVIDIA's CUDA release notes (compute capability, first toolkit, minimum driver) and data sheets (memory, form).
A name without a form factor means the SXM part where there is one: `A100` is the 40 GB SXM4 part, `A100-80GB` the 80 GB
SXM4 part, `H100` the 80 GB SXM5 part. PCIe and NVL parts have names of their own and are never taken for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Form = Literal["SXM", "PCIe", "NVL", "OAM", "SXM or PCIe", "superchip", "card"]


@dataclass(frozen=True, slots=True)
class Gpu:
    """`memory_gib` is nominal, as the maker says it; clouds report what is left of it. Versions are (major, minor)."""

    name: str
    memory_gib: float
    architecture: str
    compute_capability: str | None  # None: not an NVIDIA GPU
    form: Form
    first_driver: int | None  # branch
    first_cuda: tuple[int, int] | None
    last_cuda: tuple[int, int] | None = None
    vendor: str = "NVIDIA"
    aliases: tuple[str, ...] = ()


TABLE: tuple[Gpu, ...] = (
    Gpu("K80", 12, "Kepler", "3.7", "PCIe", 340, (6, 5), (11, 8), aliases=("Tesla-K80",)),
    Gpu("M60", 8, "Maxwell", "5.2", "PCIe", 352, (7, 0), (12, 9), aliases=("Tesla-M60",)),
    Gpu("P4", 8, "Pascal", "6.1", "PCIe", 375, (8, 0), (12, 9), aliases=("Tesla-P4",)),
    Gpu("P40", 24, "Pascal", "6.1", "PCIe", 375, (8, 0), (12, 9), aliases=("Tesla-P40",)),
    Gpu("P100", 16, "Pascal", "6.0", "SXM or PCIe", 375, (8, 0), (12, 9), aliases=("Tesla-P100",)),
    Gpu("V100", 16, "Volta", "7.0", "SXM or PCIe", 384, (9, 0), (12, 9), aliases=("Tesla-V100", "V100-16GB")),
    Gpu("V100-32GB", 32, "Volta", "7.0", "SXM or PCIe", 384, (9, 0), (12, 9)),
    Gpu("T4", 16, "Turing", "7.5", "PCIe", 410, (10, 0), aliases=("Tesla-T4",)),
    Gpu("T4g", 16, "Turing", "7.5", "PCIe", 410, (10, 0)),
    Gpu("RTX6000", 24, "Turing", "7.5", "PCIe", 410, (10, 0), aliases=("Quadro-RTX-6000", "RTX-6000")),
    Gpu("A10", 24, "Ampere", "8.6", "PCIe", 460, (11, 1)),
    Gpu("A10G", 24, "Ampere", "8.6", "PCIe", 470, (11, 1)),
    Gpu("A16", 16, "Ampere", "8.6", "PCIe", 470, (11, 1)),
    Gpu("A30", 24, "Ampere", "8.0", "PCIe", 460, (11, 0)),
    Gpu("A40", 48, "Ampere", "8.6", "PCIe", 460, (11, 1)),
    Gpu("A6000", 48, "Ampere", "8.6", "PCIe", 455, (11, 1), aliases=("RTXA6000", "RTX-A6000")),
    Gpu("A5000", 24, "Ampere", "8.6", "PCIe", 460, (11, 1), aliases=("RTXA5000", "RTX-A5000")),
    Gpu("A4500", 20, "Ampere", "8.6", "PCIe", 470, (11, 1), aliases=("RTXA4500", "RTX-A4500")),
    Gpu("A4000", 16, "Ampere", "8.6", "PCIe", 460, (11, 1), aliases=("RTXA4000", "RTX-A4000")),
    Gpu("RTX3090", 24, "Ampere", "8.6", "card", 455, (11, 1), aliases=("GeForce-RTX-3090",)),
    Gpu("A100", 40, "Ampere", "8.0", "SXM", 450, (11, 0), aliases=("A100-40GB", "A100-SXM4-40GB", "A100-SXM")),
    Gpu("A100-PCIe", 40, "Ampere", "8.0", "PCIe", 450, (11, 0), aliases=("A100-40GB-PCIe", "A100-PCIe-40GB")),
    Gpu("A100-80GB", 80, "Ampere", "8.0", "SXM", 450, (11, 0), aliases=("A100-80GB-SXM", "A100-SXM4-80GB")),
    Gpu("A100-80GB-PCIe", 80, "Ampere", "8.0", "PCIe", 460, (11, 0), aliases=("A100-PCIe-80GB",)),
    Gpu("L4", 24, "Ada", "8.9", "PCIe", 525, (11, 8)),
    Gpu("L40", 48, "Ada", "8.9", "PCIe", 525, (11, 8)),
    Gpu("L40S", 48, "Ada", "8.9", "PCIe", 535, (11, 8)),
    Gpu("RTX4090", 24, "Ada", "8.9", "card", 520, (11, 8), aliases=("GeForce-RTX-4090",)),
    Gpu("RTX4000-Ada", 20, "Ada", "8.9", "PCIe", 525, (11, 8)),
    Gpu("RTX6000-Ada", 48, "Ada", "8.9", "PCIe", 525, (11, 8)),
    Gpu("H100", 80, "Hopper", "9.0", "SXM", 525, (11, 8), aliases=("H100-SXM", "H100-80GB", "H100-80GB-HBM3")),
    Gpu("H100-MEGA", 80, "Hopper", "9.0", "SXM", 525, (11, 8), aliases=("H100-MEGA-80GB",)),
    Gpu("H100-PCIe", 80, "Hopper", "9.0", "PCIe", 525, (11, 8), aliases=("H100-80GB-PCIe",)),
    Gpu("H100-NVL", 94, "Hopper", "9.0", "NVL", 535, (11, 8)),
    Gpu("H200", 141, "Hopper", "9.0", "SXM", 550, (11, 8), aliases=("H200-SXM", "H200-141GB")),
    Gpu("H200-NVL", 141, "Hopper", "9.0", "NVL", 550, (11, 8)),
    Gpu("GH200", 96, "Hopper", "9.0", "superchip", 535, (11, 8)),
    Gpu("B200", 180, "Blackwell", "10.0", "SXM", 570, (12, 8), aliases=("B200-SXM",)),
    Gpu("GB200", 186, "Blackwell", "10.0", "superchip", 570, (12, 8)),
    Gpu("B300", 270, "Blackwell", "10.3", "SXM", 575, (12, 9), aliases=("B300-SXM",)),
    Gpu("GB300", 279, "Blackwell", "10.3", "superchip", 575, (12, 9)),
    Gpu("RTX5090", 32, "Blackwell", "12.0", "card", 570, (12, 8), aliases=("GeForce-RTX-5090",)),
    Gpu("RTX-PRO-6000", 96, "Blackwell", "12.0", "PCIe", 570, (12, 8), aliases=("RTXPRO6000",)),
    Gpu("MI25", 16, "GCN5", None, "PCIe", None, None, vendor="AMD", aliases=("Radeon-MI25", "Radeon MI25")),
    Gpu("Radeon-Pro-V520", 8, "RDNA", None, "PCIe", None, None, vendor="AMD", aliases=("Radeon Pro V520",)),
    Gpu("MI300X", 192, "CDNA3", None, "OAM", None, None, vendor="AMD"),
    Gpu("MI325X", 256, "CDNA3", None, "OAM", None, None, vendor="AMD"),
    Gpu("Gaudi-HL-205", 32, "Gaudi", None, "OAM", None, None, vendor="Intel", aliases=("Gaudi HL-205",)),
    Gpu("Trainium", 32, "Trainium", None, "OAM", None, None, vendor="AWS"),
    Gpu("Trainium2", 96, "Trainium", None, "OAM", None, None, vendor="AWS"),
    Gpu("Inferentia", 8, "Inferentia", None, "PCIe", None, None, vendor="AWS"),
    Gpu("Inferentia2", 32, "Inferentia", None, "PCIe", None, None, vendor="AWS"),
)
