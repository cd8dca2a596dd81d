from __future__ import annotations

import pytest

from trainrig.clouds.local.gpus import HostGpu, of_this_machine, parse
from trainrig.errors import CommandFailed
from trainrig.model.process import Command, Outcome


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("NVIDIA H200, 143771", HostGpu(name="H200", memory_gib=141)),
        ("NVIDIA H100 80GB HBM3, 81559", HostGpu(name="H100", memory_gib=80)),
        ("NVIDIA A100-SXM4-40GB, 40960", HostGpu(name="A100", memory_gib=40)),
        ("NVIDIA A100-SXM4-80GB, 81920", HostGpu(name="A100-80GB", memory_gib=80)),
        ("NVIDIA A100 80GB PCIe, 81920", HostGpu(name="A100-80GB-PCIe", memory_gib=80)),
        ("Tesla T4, 15360", HostGpu(name="T4", memory_gib=16)),
        ("Tesla V100-SXM2-32GB, 32768", HostGpu(name="V100-32GB", memory_gib=32)),
        ("NVIDIA GeForce RTX 4090, 24564", HostGpu(name="RTX4090", memory_gib=24)),
        ("NVIDIA Moonshine 9, 10240", HostGpu(name="NVIDIA Moonshine 9", memory_gib=10)),
    ],
)
def test_the_drivers_name_is_the_catalogues(line: str, expected: HostGpu) -> None:
    assert parse(line + "\n") == (expected,)


def test_a_gpu_without_memory_of_its_own_is_left_out() -> None:
    assert parse("NVIDIA GB10, [N/A]\n") == ()


def test_different_gpus_are_not_offered() -> None:
    def run(command: Command, *, check: bool = True) -> Outcome:
        return Outcome(returncode=0, stdout="Tesla T4, 15360\nNVIDIA L4, 23034\n", stderr="", seconds=0)

    assert of_this_machine(run) == ()


def test_a_driver_that_hangs_means_no_gpu() -> None:
    def run(command: Command, *, check: bool = True) -> Outcome:
        raise CommandFailed("nvidia-smi did not finish within 20 s")

    assert of_this_machine(run) == ()
