from __future__ import annotations

from support.fake_gcp import FakeGcp
from trainrig.clouds.base import Account
from trainrig.clouds.gcp.images import find, newest

IMAGES = "/compute/v1/projects/deeplearning-platform-release/global/images"
NAME = "common-cu129-ubuntu-2204-nvidia-580-v20261001"


def test_a_family_is_resolved_to_the_exact_name(cloud: FakeGcp, account: Account) -> None:
    cloud.server.route("GET", f"{IMAGES}/family/common-cu129-ubuntu-2204-nvidia-580", {"name": NAME})
    image = newest(account, "us-central1", "x86_64")
    assert image is not None
    assert image.id == f"projects/deeplearning-platform-release/global/images/{NAME}"
    assert (image.driver, image.cuda) == ("580", "12.9")
    assert newest(account, "us-central1", "arm64") is None


def test_an_exact_name_is_there_or_not(cloud: FakeGcp, account: Account) -> None:
    cloud.server.route("GET", f"{IMAGES}/{NAME}", {"name": NAME})
    assert find(account, "us-central1", NAME)
    assert find(account, "us-central1", "common-cu129-ubuntu-2204-nvidia-580-v19990101") is None
