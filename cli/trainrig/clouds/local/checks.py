"""`trainrig check` for this machine. It looks and changes nothing; `prepare` builds what is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from typing import Any

from trainrig.clouds.base import Account
from trainrig.errors import PreflightFailed
from trainrig.localcloud import image, isolation, recipe
from trainrig.localcloud.engine import Engine, connect
from trainrig.model.readiness import Check


def checks(account: Account) -> Iterator[Check]:  # noqa: ARG001
    try:
        engine = connect()
    except PreflightFailed as error:
        yield Check(name="docker", status="fail", detail=error.message, mend=error.hint)
        return
    with engine:
        yield from _checks(engine)


def _checks(engine: Engine) -> Iterator[Check]:
    info = engine.client.info()
    yield Check(
        name="docker",
        status="pass",
        detail=f"Docker {info['ServerVersion']}, cgroup v{info.get('CgroupVersion', '1')}",
    )
    if shutil.which("nvidia-smi"):
        yield _gpu_toolkit(info)
    yield _disk(engine)
    yield from _node_image(engine)


def _gpu_toolkit(info: Mapping[str, Any]) -> Check:
    """What Docker needs to hand a GPU to a node: NVIDIA's hook on PATH, or its runtime configured."""
    if shutil.which("nvidia-container-runtime-hook") or "nvidia" in info.get("Runtimes", {}):
        return Check(name="gpu", status="pass", detail="NVIDIA driver and container toolkit")
    return Check(
        name="gpu",
        status="fail",
        detail="this machine has an NVIDIA driver, and Docker cannot hand its GPUs to a node",
        mend="install nvidia-container-toolkit and restart Docker",
    )


def _disk(engine: Engine) -> Check:
    free = engine.free_gb()
    if free is None:
        return Check(name="disk", status="skip", detail="Docker's data is not on this machine's disk")
    return Check(
        name="disk",
        status="pass" if free >= image.NEEDED_GB else "fail",
        detail=f"{free:.0f} GB free, {image.NEEDED_GB} GB needed",
        mend="" if free >= image.NEEDED_GB else "docker system df",
    )


def _node_image(engine: Engine) -> Iterator[Check]:
    suite = recipe.host_suite()
    reference = recipe.NODE.reference(suite)
    if engine.has_image(reference):
        way = isolation.chosen(engine, reference)
        yield Check(name="node image", status="pass", detail=f"{reference}, {way or 'isolation not probed yet'}")
    elif not suite:
        yield Check(
            name="node image",
            status="fail",
            detail="it is built from Debian or Ubuntu packages, and this is neither",
            mend="run trainrig on Debian or Ubuntu",
        )
    elif shutil.which("mmdebstrap") is None:
        yield Check(
            name="node image",
            status="fail",
            detail="not built yet, and mmdebstrap is missing",
            mend="sudo apt-get install mmdebstrap",
        )
    else:
        yield Check(
            name="node image", status="pass", detail=f"{reference} is built at the first run, in about a minute"
        )
