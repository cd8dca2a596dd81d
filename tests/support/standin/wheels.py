"""The wheels that provider schemas are rebuilt from: exact versions with checksums, kept in trainrig's cache folder.

cdktn-provider-* wheels (MPL-2.0) are generated from a provider's own schema, so they hold it, and PyPI has them where
it has no provider binary. They are read as archives, never installed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from trainrig import settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Wheel:
    project: str
    version: str
    sha256: str
    provider_version: str  # of the Terraform provider that it was generated from

    @property
    def filename(self) -> str:
        return f"{self.project.replace('-', '_')}-{self.version}-py3-none-any.whl"


WHEELS = {
    "aws": Wheel(
        project="cdktn-provider-aws",
        version="25.8.1",
        sha256="2ffa579cb88b063cb3a9937e43c519391e876845768f51638a848bdf2ce9f354",
        provider_version="6.69.1",
    ),
    "google": Wheel(
        project="cdktn-provider-google",
        version="21.1.0",
        sha256="157dead5025d5db5abe48e40cc49f0b6a4d8088fd0498eb17ad5a36bca811b2a",
        provider_version="8.7.0",
    ),
    "azurerm": Wheel(
        project="cdktn-provider-azurerm",
        version="18.9.0",
        sha256="83dc7e7d1e8e0dcc62d0ceeb8aff741bf70f5132548d9b47169f619425a6b4e1",
        provider_version="5.10.0",
    ),
}


def folder() -> Path:
    return settings.cache() / "standin"


def fetch(provider: str) -> Path:
    """The wheel of a provider on disk, downloaded on first use and checked every time."""
    wheel = WHEELS[provider]
    path = folder() / "wheels" / wheel.filename
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if not path.exists():
            requirement = f"{wheel.project}=={wheel.version}"
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            subprocess.run([*pip, "--dest", str(path.parent), requirement], check=True, timeout=300)
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != wheel.sha256:
        path.unlink()
        raise ValueError(f"{wheel.filename} has sha256 {found}, not {wheel.sha256}")
    return path
