"""The folder of a rig: one Terraform root an attempt, and beside them what the whole rig shares."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainrig.model.rig import RigIdentity

RIGS = "rigs"


@dataclass(frozen=True, kw_only=True, slots=True)
class RigDir:
    """`TRAINRIG_HOME/rigs/<name>-<run_id>`."""

    path: Path

    @classmethod
    def of(cls, home: Path, identity: RigIdentity) -> RigDir:
        # the prefix is "tr-" and the name and run id in characters that are safe in paths
        return cls(path=home / RIGS / identity.resource_prefix.removeprefix("tr-"))

    def create(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)

    def attempt(self, generation: int, number: int) -> Path:
        """The Terraform root of one attempt."""
        return self.path / f"{generation}-{number}"

    @property
    def job(self) -> Path:
        return self.path / "job.json"

    @property
    def placement(self) -> Path:
        return self.path / "placement.json"

    @property
    def ssh_key(self) -> Path:
        return self.path / "id_ed25519"

    @property
    def log(self) -> Path:
        return self.path / "trainrig.log"


def write_atomic(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """The whole content or nothing of it, on disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as f:
            f.write(content)
            f.flush()
            os.fsync(f.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_tree(root: Path, files: Mapping[str, str]) -> None:
    """Writes `path -> text` below `root`; what was there stays."""
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, text in files.items():
        write_atomic(root / name, text.encode())
