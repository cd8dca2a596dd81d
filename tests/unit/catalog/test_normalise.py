from __future__ import annotations

import pytest

from trainrig.catalog import normalise
from trainrig.catalog.gpus import TABLE


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("a100", "A100"),
        ("A100-40GB", "A100"),
        ("NVIDIA A100-SXM4-80GB", "A100-80GB"),
        ("nvidia-a100-80gb", "A100-80GB"),
        ("A100-80GB-PCIe", "A100-80GB-PCIe"),
        ("A100 80GB PCIe", "A100-80GB-PCIe"),
        ("nvidia-tesla-v100", "V100"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("H100-SXM", "H100"),
        ("H100_NVL", "H100-NVL"),
        ("nvidia-h100-mega-80gb", "H100-MEGA"),
        ("RTXA6000", "A6000"),
        ("Quantum9000", "Quantum9000"),
    ],
)
def test_every_spelling_has_one_name(spelling: str, name: str) -> None:
    assert normalise.canonical(spelling) == name


@pytest.mark.parametrize(
    ("cloud", "instance_type", "there", "part"),
    [
        ("azure", "Standard_NC40ads_H100_v5", "H100", "H100-NVL"),
        ("azure", "Standard_ND96isr_H100_v5", "H100", "H100"),
        ("azure", "Standard_NC24ads_A100_v4", "A100-80GB", "A100-80GB-PCIe"),
        ("azure", "Standard_ND96amsr_A100_v4", "A100-80GB", "A100-80GB"),
        ("lambda", "gpu_1x_h100_pcie", "H100", "H100-PCIe"),
        ("lambda", "gpu_8x_a100", "A100", "A100"),
        ("runpod", "1x_A100-80GB_SECURE", "A100-80GB", "A100-80GB-PCIe"),
        ("runpod", "1x_A100-80GB-SXM_SECURE", "A100-80GB-SXM", "A100-80GB"),
        ("aws", "p4d.24xlarge", "A100", "A100"),
    ],
)
def test_a_part_that_a_cloud_calls_by_the_family_name_keeps_its_own(
    cloud: str, instance_type: str, there: str, part: str
) -> None:
    assert normalise.gpu_of(cloud, instance_type, there) == part


def test_no_two_parts_share_a_spelling() -> None:
    spellings = [key for gpu in TABLE for key in {normalise._key(alias) for alias in (gpu.name, *gpu.aliases)}]

    assert len(spellings) == len(set(spellings))


def test_nvidia_parts_say_what_they_need() -> None:
    for gpu in TABLE:
        cuda = (gpu.compute_capability, gpu.first_driver, gpu.first_cuda)
        assert all(cuda) if gpu.vendor == "NVIDIA" else not any(cuda), gpu.name
