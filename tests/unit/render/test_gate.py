from __future__ import annotations

import pytest

from trainrig.lifecycle.pins import matrix
from trainrig.render.gate import Mix, container_cuda, judge


@pytest.mark.parametrize(
    ("mix", "reason", "nearest"),
    [
        (
            Mix(gpu="H100", driver="570.133.20", container_cuda="13.0"),
            "CUDA 13.0 needs driver 580.65.06 or newer, and the image has 570.133.20",
            "a container with CUDA 12.8 or older, or an image with driver 580.65.06 or newer",
        ),
        (
            Mix(gpu="B200", driver="580.126.09", container_cuda="12.4"),
            "CUDA 12.4 of the container makes no code for B200 (Blackwell)",
            "a container with CUDA 12.8 or newer",
        ),
        (
            Mix(gpu="V100", driver="580.126.09", container_cuda="13.0", open_module=False),
            "CUDA 13.0 of the container has dropped V100 (Volta)",
            "a container with CUDA 12.9 or older",
        ),
        (
            Mix(gpu="V100", driver="580.126.09", container_cuda="12.4"),
            "the image's open kernel module does not drive V100 (Volta)",
            "an image with NVIDIA's proprietary kernel module",
        ),
        (
            Mix(gpu="B200", driver="550.54.14"),
            "driver 550.54.14 does not know B200 (Blackwell)",
            "driver 570 or newer",
        ),
        (
            Mix(gpu="H100", driver="570.133.20", image_cuda="13.0"),
            "the image is at odds with itself: CUDA 13.0 needs driver 580.65.06 or newer, and the image has 570.133.20",
            "a container with CUDA 12.8 or older, or an image with driver 580.65.06 or newer",
        ),
        (Mix(gpu="A100", driver=None), "the image has no GPU driver for A100", "an image with one"),
    ],
)
def test_an_impossible_mix_is_refused_with_the_nearest_possible(mix: Mix, reason: str, nearest: str) -> None:
    verdict = judge(mix, matrix())
    assert (verdict.reason, verdict.nearest) == (reason, nearest)


@pytest.mark.parametrize(
    "mix",
    [
        Mix(gpu=None, driver=None, container_cuda="13.0"),
        Mix(gpu="A100", driver="580.126.09", container_cuda="11.8"),
        Mix(gpu="H100", driver="580.126.09", container_cuda="13.0"),
        Mix(gpu="B200", driver="580.173.02", image_cuda="13.0", container_cuda="12.8"),
        Mix(gpu="V100", driver="570.133.20", container_cuda="12.8", open_module=False),
        Mix(gpu="H100", driver="580", container_cuda="13.0"),
    ],
)
def test_what_works_passes_in_silence(mix: Mix) -> None:
    verdict = judge(mix, matrix())
    assert verdict.possible
    assert verdict.notes == ()


def test_a_newer_minor_release_passes_with_a_word() -> None:
    verdict = judge(Mix(gpu="H100", driver="570.133.20", container_cuda="12.9"), matrix())
    assert verdict.possible
    assert verdict.notes == (
        "CUDA 12.9 was made with driver 575.51.03; under 570.133.20 what is new in it may be missing",
    )


def test_what_the_table_does_not_know_is_said() -> None:
    verdict = judge(Mix(gpu="R200", driver="610.1"), matrix())
    assert verdict.possible
    assert "R200 is not in the table" in verdict.notes[0]


def test_another_makers_gpu_is_no_cuda_machine() -> None:
    assert not judge(Mix(gpu="MI300X", driver="580.126.09"), matrix()).possible


@pytest.mark.parametrize(
    ("reference", "cuda"),
    [
        ("pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime", "12.4"),
        ("nvidia/cuda:12.4.1-devel-ubuntu22.04", "12.4"),
        ("docker.io/nvidia/cuda:13.0.0-base@sha256:" + "0" * 64, "13.0"),
        ("localhost:5000/team/train:v3-cu128", "12.8"),
        ("nvcr.io/nvidia/pytorch:25.03-py3", "12.8"),
        ("nvcr.io/nvidia/pytorch:99.01-py3", None),
        ("localhost:5000/team/train", None),
        ("team/focus12:v1", None),
        ("team/train:focus128", None),
    ],
)
def test_a_containers_name_tells_its_cuda(reference: str, cuda: str | None) -> None:
    assert container_cuda(reference, matrix()) == cuda
