"""The shape of a child process, so that adapters can be handed a runner without importing one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """One program call. `env` overlays the parent's environment, None removes a name; `secrets` are masked wherever
    the command or its output is shown."""

    argv: Sequence[str]
    cwd: Path | None = None
    env: Mapping[str, str | None] = field(default_factory=dict)
    stdin: bytes | None = None
    timeout_seconds: float | None = None
    secrets: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    returncode: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def ok(self) -> bool:
        return self.returncode == 0


class Runner(Protocol):
    """tools/proc.py is the real one. With `check`, a non-zero exit raises CommandFailed."""

    def __call__(self, command: Command, *, check: bool = True) -> Outcome: ...
