from __future__ import annotations

import pytest

from trainrig.render.references import container_floats, container_loose, machine_floats, split

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("ubuntu", ("ubuntu", None, None)),
        ("registry:5000/team/train", ("registry:5000/team/train", None, None)),
        (f"registry:5000/team/train:v1@{DIGEST}", ("registry:5000/team/train", "v1", DIGEST)),
        (f"ubuntu@{DIGEST}", ("ubuntu", None, DIGEST)),
    ],
)
def test_a_reference_has_a_name_a_tag_and_a_digest(reference: str, parts: tuple[str, str | None, str | None]) -> None:
    assert split(reference) == parts


@pytest.mark.parametrize(
    "reference",
    ["ubuntu", "ubuntu:latest", "vllm/vllm-openai:nightly", "team/train:gpu-latest", "ubuntu:22.04@sha256:short"],
)
def test_a_container_that_moves_is_caught(reference: str) -> None:
    assert container_floats(reference)


@pytest.mark.parametrize("reference", [f"ubuntu:latest@{DIGEST}", DIGEST, "pytorch/pytorch:2.4.0-cuda12.4"])
def test_an_exact_container_passes(reference: str) -> None:
    assert container_floats(reference) is None


def test_a_version_tag_is_held_by_its_publisher_alone() -> None:
    assert container_loose("pytorch/pytorch:2.4.0-cuda12.4")
    assert not container_loose(f"pytorch/pytorch@{DIGEST}")


@pytest.mark.parametrize(
    "reference",
    [
        "microsoft-dsvm:ubuntu-hpc:2404:latest",
        "projects/deeplearning-platform-release/global/images/family/common-cu129",
        "resolve:ssm:/aws/service/deeplearning/ami/x86_64/base/latest/ami-id",
        "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) *",
    ],
)
def test_a_machine_image_that_moves_is_caught(reference: str) -> None:
    assert machine_floats(reference)


@pytest.mark.parametrize(
    "reference",
    [
        "ami-06517bc7fad3c6a48",
        "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901",
        "projects/deeplearning-platform-release/global/images/common-cu129-ubuntu-2204-nvidia-580-v20260909",
        "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) 20260403",
    ],
)
def test_an_exact_machine_image_passes(reference: str) -> None:
    assert machine_floats(reference) is None
