"""What a seed chooses, and what is seen of it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from support.receiver import Receiver
from support.soak.settings import Play

MOST_KILLS = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What a seed does. `aim`: what ends the run, if not its own work."""

    seed: int
    aim: str
    play: Play
    limits: dict[str, Any]
    kills: int
    queued: bool
    plugin: bool

    @classmethod
    def of(cls, seed: int) -> Plan:
        chance = random.Random(seed)
        aim = chance.choices(
            ["done", "fails", "fails once", "limit", "guard", "cancel", "destroy"], [46, 8, 8, 14, 10, 8, 6]
        )[0]
        limits: dict[str, Any] = {}
        play: dict[str, Any] = {
            "bucket": chance.random() < 0.5,
            "kill_share": chance.choice([0.0, 0.01, 0.03, 0.06]),
            "code_on_stop": chance.choice([143, 143, 1, 0]),
        }
        if aim.startswith("fails"):
            play["fails_at"] = chance.randint(6, 40)
        if aim == "fails once":
            play["fails_in"], limits["restarts"] = 1, 1
        if aim == "guard":
            play["mute_from"] = chance.randint(10, 40)
            limits |= {"silence": 1, "do": chance.choice(["stop", "destroy"])}
        if aim == "limit":
            seconds = chance.uniform(6, 14)
            which = chance.choice(["timeout", "deadline", "budget", "lease"])
            choice: dict[str, dict[str, Any]] = {
                "timeout": {"timeout_seconds": int(seconds)},
                "deadline": {"deadline": (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()},
                "budget": {"budget_usd": f"{seconds * 0.1:.2f}"},
                "lease": {"lease_seconds": 120 + int(seconds)},
            }
            limits |= choice[which]
        return cls(
            seed=seed,
            aim=aim,
            play=Play(**play),
            limits=limits,
            kills=chance.choice([0, 1, 2, 3, 4, MOST_KILLS]),
            queued=chance.random() < 0.25,
            plugin=chance.random() < 0.15,
        )


@dataclass(kw_only=True, slots=True)
class Seen:
    """What the judge has to go by, beside the journal and the notes."""

    codes: list[tuple[str, int]] = field(default_factory=list)  # verb, exit code
    documents: list[dict[str, Any]] = field(default_factory=list)
    machines: dict[str, dict[str, Any]] = field(default_factory=dict)  # id -> the object, `seen` and `gone`
    statuses: int = 0
    complaints: list[str] = field(default_factory=list)
    asked_to_end: bool = False
    began: bool = True
    hook: Receiver | None = None
