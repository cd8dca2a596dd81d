"""What this machine needs before it can hold a rig: Docker, some disk, the images, and flags that work."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from filelock import FileLock

from trainrig.errors import MissingTool, PreflightFailed
from trainrig.localcloud import image, isolation, recipe
from trainrig.localcloud.engine import Engine, connect
from trainrig.model.events import Observer, Progress
from trainrig.model.process import Runner

RUN_GB = 1  # what a rig of a small job takes


def prepare(run: Runner, observe: Observer) -> None:
    """Does nothing where all is there already.

    Raises:
        PreflightFailed: no Docker, no rights, no disk, no distribution to build from, no nested Docker.
    """
    # Two runs that start at once build an image once.
    lock = Path(tempfile.gettempdir()) / f"trainrig-images-{os.getuid()}.lock"
    with connect() as engine, FileLock(lock, mode=0o600):
        _prepare(engine, run, observe)


def _prepare(engine: Engine, run: Runner, observe: Observer) -> None:
    suite = host_suite()
    missing = [r for r in (recipe.NODE, recipe.PYTHON) if not engine.has_image(r.reference(suite))]
    _require_disk(engine, image.NEEDED_GB if missing else RUN_GB)
    for one in missing:
        observe(Progress(phase="apply", message=f"build {one.reference(suite)} from {suite} packages (once)"))
        image.build(one, engine, run, suite)
    node = recipe.NODE.reference(suite)
    if isolation.chosen(engine, node) is None:
        observe(Progress(phase="apply", message="find out how a node must be isolated here (once)"))
        way = isolation.choose(engine, node)
        if way is isolation.Isolation.PRIVILEGED:
            observe(Progress(phase="apply", message="nodes run with --privileged: nothing less works on this machine"))


def host_suite() -> str:
    suite = recipe.host_suite()
    if not suite:
        raise MissingTool(
            "node images are built from Debian or Ubuntu packages, and this is neither",
            hint="run trainrig on Debian or Ubuntu, or in a virtual machine with one",
        )
    return suite


def _require_disk(engine: Engine, needed_gb: float) -> None:
    free = engine.free_gb()
    if free is not None and free < needed_gb:
        raise PreflightFailed(
            f"{free:.1f} GB of disk are free where Docker keeps its data, {needed_gb:.0f} GB are needed",
            hint="`docker system df` shows what Docker holds",
        )
