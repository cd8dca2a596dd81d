from __future__ import annotations

from typing import Any

import pytest

from support import rigs
from trainrig.lifecycle.pins import matrix, shipped
from trainrig.model.job import Job, Pins, ResourceOption
from trainrig.model.placement import RejectionCode
from trainrig.render.images import ImageChoice, architecture, choose, option_of


def pick(job: dict[str, Any] | None = None, pins: Pins | None = None, **offer: Any) -> ImageChoice:
    made = Job(name="a", **{"options": (ResourceOption(),), "pins": pins or Pins(), **(job or {})})
    return choose(rigs.offer(**offer), made, shipped(), matrix())


def test_the_first_image_that_fits_is_taken_by_its_regional_id_or_exact_name() -> None:
    ohio, virginia = pick(region="us-east-2").image, pick().image
    assert ohio is not None
    assert virginia is not None
    assert ohio.id == "ami-06517bc7fad3c6a48"
    assert virginia.id == virginia.name == ohio.name
    assert ohio.driver == "580.126.09"


def test_a_pinned_driver_chooses_the_image_that_has_it() -> None:
    image = pick(pins=Pins(driver="595")).image
    assert image is not None
    assert image.driver == "595.91.07"


def test_a_pinned_cuda_is_the_containers_where_its_name_is_silent() -> None:
    assert pick(pins=Pins(cuda="12.4"), gpu="H100").notes == ()
    choice = pick(pins=Pins(cuda="12.4"), gpu="B200")
    assert choice.code is RejectionCode.DRIVER_CUDA_MISMATCH
    assert "nearest that works: a container with CUDA 12.8 or newer" in choice.detail


def test_a_container_with_an_unknown_cuda_is_said() -> None:
    assert pick().notes == ()  # there is no container to speak of
    choice = pick({"image": "team/train:v1"})
    assert choice.image is not None
    assert "does not say which CUDA" in choice.notes[0]


@pytest.mark.parametrize(
    ("changes", "pins"),
    [({"cloud": "nebius"}, Pins()), ({"instance_type": "g5g.xlarge"}, Pins()), ({}, Pins(driver="470"))],
)
def test_without_an_image_the_offer_is_rejected(changes: dict[str, Any], pins: Pins) -> None:
    choice = pick(None, pins, **changes)
    assert choice.image is None
    assert choice.code is RejectionCode.NO_IMAGE
    assert "trainrig lock" in choice.detail


def test_a_job_may_name_an_exact_image_of_its_own() -> None:
    own = {"options": (ResourceOption(cloud="aws", image_id="ami-0aaaaaaaaaaaaaaaa"),)}
    choice = pick(own)
    assert choice.image is not None
    assert choice.image.id == "ami-0aaaaaaaaaaaaaaaa"
    assert "nothing is known of the driver" in choice.notes[0]
    assert pick(own, Pins(driver="570.133.20")).notes == ()
    assert pick(own, Pins(driver="550.54.14"), gpu="B200").code is RejectionCode.DRIVER_CUDA_MISMATCH


def test_an_image_that_moves_is_refused() -> None:
    choice = pick({"options": (ResourceOption(image_id="projects/x/global/images/family/y"),)})
    assert choice.image is None
    assert "an image family moves" in choice.detail


@pytest.mark.parametrize(
    ("cloud", "instance_type", "arch"),
    [
        ("aws", "g5g.xlarge", "arm64"),
        ("aws", "c7gn.large", "arm64"),
        ("aws", "p5en.48xlarge", "x86_64"),
        ("aws", "g6.xlarge", "x86_64"),
        ("gcp", "a4x-highgpu-4g", "arm64"),
        ("gcp", "a4-highgpu-8g", "x86_64"),
        ("azure", "Standard_D4ps_v5", "arm64"),
        ("azure", "Standard_ND96isr_H100_v5", "x86_64"),
        ("azure", "Standard_ND128isr_GB200_v6", "arm64"),
        ("local", "any", "x86_64"),
    ],
)
def test_a_machine_types_name_tells_its_architecture(cloud: str, instance_type: str, arch: str) -> None:
    assert architecture(rigs.offer(cloud=cloud, instance_type=instance_type)) == arch


def test_the_option_that_an_offer_answers_is_found() -> None:
    west, any_aws = ResourceOption(cloud="aws", region="us-west-2"), ResourceOption(cloud="aws", disk_gb=100)
    assert option_of(Job(name="a", options=(west, any_aws)), rigs.offer()) is any_aws
