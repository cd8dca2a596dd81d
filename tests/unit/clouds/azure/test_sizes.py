from __future__ import annotations

import pytest

from trainrig.clouds.azure.sizes import same_family, size_of


@pytest.mark.parametrize(
    ("name", "gpu", "count", "family"),
    [
        ("Standard_NC24ads_A100_v4", "A100-80GB-PCIe", None, "StandardNCADSA100v4Family"),
        ("Standard_ND96asr_v4", "A100", 8, "standardNDASv4_A100Family"),
        ("Standard_ND96amsr_A100_v4", "A100-80GB", 8, "standardNDAMSv4_A100Family"),
        ("Standard_NC40ads_H100_v5", "H100-NVL", None, "StandardNCadsH100v5Family"),
        ("Standard_NC80adis_H100_v5", "H100-NVL", None, "StandardNCadsH100v5Family"),
        ("Standard_ND96isr_H100_v5", "H100", 8, "standardNDSH100v5Family"),
        ("Standard_ND96isr_H200_v5", "H200", 8, "standardNDISRH200V5Family"),
        ("standard_nc4as_t4_v3", "T4", None, "Standard NCASv3_T4 Family"),
        ("Standard_NC24rs_v3", "V100", None, "standardNCSv3Family"),
    ],
)
def test_known_size(name: str, gpu: str, count: int | None, family: str) -> None:
    size = size_of(name)
    assert size is not None
    assert (size.gpu, size.gpu_count, size.family) == (gpu, count, family)


@pytest.mark.parametrize("name", ["Standard_NV6ads_A10_v5", "Standard_D2s_v5", "NC24ads_A100_v4", ""])
def test_share_of_a_gpu_and_no_gpu_are_not_gpu_sizes(name: str) -> None:
    assert size_of(name) is None


def test_family_spellings_are_one() -> None:
    assert same_family("Standard NCASv3_T4 Family", "standardNCASv3_T4Family")
    assert not same_family("standardNDSH100v5Family", "standardNDSv2Family")
