"""Deep Learning VM images: a family moves, the name of its newest image does not. Names say CUDA and driver branch."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from trainrig.clouds.base import Account, MachineImage
from trainrig.clouds.gcp import session
from trainrig.errors import CommandFailed

PER_REGION = False
PROJECT = "deeplearning-platform-release"
URL = f"https://compute.googleapis.com/compute/v1/projects/{PROJECT}/global/images"
FAMILY = {"x86_64": "common-cu129-ubuntu-2204-nvidia-580"}
_NAME = re.compile(r"-cu(\d{2})(\d)-.*-nvidia-(\d{3})")


def newest(account: Account, region: str, arch: str) -> MachineImage | None:  # noqa: ARG001 -- images are global
    family = FAMILY.get(arch)
    return _read(account, f"family/{family}") if family else None


def find(account: Account, region: str, name: str) -> MachineImage | None:  # noqa: ARG001
    return _read(account, name)


def _read(account: Account, path: str) -> MachineImage | None:
    try:
        return _image(session.rest(account, "GET", f"{URL}/{path}"))
    except CommandFailed as error:
        if error.details.get("code") == HTTPStatus.NOT_FOUND:
            return None
        raise


def _image(image: Any) -> MachineImage:
    name = str(image["name"])
    said = _NAME.search(name)
    return MachineImage(
        name=name,
        id=f"projects/{PROJECT}/global/images/{name}",
        driver=said[3] if said else None,
        cuda=f"{said[1]}.{said[2]}" if said else None,
    )
