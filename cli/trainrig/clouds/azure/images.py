"""Azure HPC images: marketplace versions, the same in every region. Their release notes name driver and CUDA, the API
does not."""

from __future__ import annotations

from trainrig.clouds.azure.session import compute, translated
from trainrig.clouds.base import Account, MachineImage

PER_REGION = False
PUBLISHER, OFFER, SKU = "microsoft-dsvm", "ubuntu-hpc", "2404"


def newest(account: Account, region: str, arch: str) -> MachineImage | None:
    versions = _versions(account, region) if arch == "x86_64" else []
    return _image(versions[-1]) if versions else None


def find(account: Account, region: str, name: str) -> MachineImage | None:
    version = name.removeprefix(f"{OFFER} ")
    return _image(version) if version in _versions(account, region) else None


def _versions(account: Account, region: str) -> list[str]:
    """Oldest first: OS.DATE, so that their numbers order them."""
    with translated():
        found = compute(account).virtual_machine_images.list(region, PUBLISHER, OFFER, SKU)
        names = [str(image.name) for image in found]
    return sorted(names, key=lambda name: [int(part) for part in name.split(".") if part.isdigit()])


def _image(version: str) -> MachineImage:
    return MachineImage(name=f"{OFFER} {version}", id=f"{PUBLISHER}:{OFFER}:{SKU}:{version}")
