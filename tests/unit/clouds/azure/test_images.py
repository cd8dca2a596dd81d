from __future__ import annotations

from support.loopback import Loopback
from trainrig.clouds.azure.images import find, newest
from trainrig.clouds.base import Account

VERSIONS = ["24.04.2026072901", "24.04.2025110701", "24.04.2026092501"]


def test_the_newest_version_is_found_by_its_numbers(azure: Loopback, account: Account) -> None:
    azure.route(
        "GET",
        r"/subscriptions/.*/publishers/microsoft-dsvm/.*/offers/ubuntu-hpc/skus/2404/versions",
        [{"name": version, "location": "eastus", "id": version} for version in VERSIONS],
    )
    image = newest(account, "eastus", "x86_64")
    assert image is not None
    assert image.id == "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026092501"
    assert find(account, "eastus", "ubuntu-hpc 24.04.2026072901") is not None
    assert find(account, "eastus", "ubuntu-hpc 24.04.2020010101") is None
