"""What one seed plays, and what its processes write down for the judge: files in the cloud's folder."""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import asdict, dataclass
from typing import Any

from support.stub_cloud import objects

STEPS = 48
STEPS_A_SECOND = 12.0
SAVE_EVERY = 4
NAME = "soak"
PRICE_HOUR = "360.00"  # ten cents a second, so that a second too many or too few shows


@dataclass(frozen=True, kw_only=True, slots=True)
class Play:
    """How the job of this seed behaves, and where its checkpoints lie. Steps are None where it does nothing of it."""

    bucket: bool = False
    fails_at: int | None = None  # with code 7
    fails_in: int | None = None  # the one generation in which it fails; None: in each
    mute_from: int | None = None  # writes no line from there on, and never ends
    code_on_stop: int = 143
    kill_share: float = 0.0  # how likely a process kills itself at one of the points of its own calls

    @classmethod
    def of_this_cloud(cls) -> Play:
        return cls(**json.loads((objects.root() / "play.json").read_text()))

    def lay(self) -> None:
        (objects.root() / "play.json").write_text(json.dumps(asdict(self)))


def chain(step: int, *, base: int = 0, digest: str = "") -> str:
    """What a model is after that step: each step is applied to what the one before has made."""
    for n in range(base + 1, step + 1):
        digest = hashlib.sha256(f"{digest}:{n}".encode()).hexdigest()[:16]
    return digest


def note(what: str, **more: Any) -> None:
    """One line for the judge, whole or not at all."""
    line = json.dumps({"at": time.time(), "pid": os.getpid(), "what": what, **more})
    with (objects.root() / "notes").open("a") as file:
        file.write(f"{line}\n")


def notes(*kinds: str) -> list[dict[str, Any]]:
    path = objects.root() / "notes"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [n for n in lines if not kinds or n["what"] in kinds]
