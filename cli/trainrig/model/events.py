"""What long work tells its observer. Library code emits these and never prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Phase = Literal["plan", "apply", "configure", "deliver", "run", "recover", "collect", "destroy"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """A step of a phase; `done` and `total` count its units (resources, tasks, bytes), total 0: unknown."""

    phase: Phase
    message: str
    node: str | None = None
    done: int = 0
    total: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLine:
    """One line that the job wrote. `cursor` is the place in its node's journal, to go on from."""

    rank: int
    text: str
    cursor: str = ""


Event = Progress | LogLine
Observer = Callable[[Event], None]


def silent(_event: Event) -> None:
    """The default observer."""
