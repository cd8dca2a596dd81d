"""What became of each thing that a rig had in a cloud, and whether we are sure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

How = Literal["terraform", "sweep"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fate:
    """One resource. `how`: Terraform destroyed it, or a sweep by label did."""

    type: str
    id: str
    gone: bool
    seen_gone_at: datetime | None  # when the cloud last did not show it
    how: How
    detail: str = ""  # why it is still there: the cloud's words


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """`doubts` say why we cannot be sure, though no resource is known to be left: a cloud that could not be asked."""

    rig: str
    run_id: str
    fates: tuple[Fate, ...]
    doubts: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        return not self.doubts and all(f.gone for f in self.fates)

    @property
    def left(self) -> tuple[Fate, ...]:
        return tuple(f for f in self.fates if not f.gone)
