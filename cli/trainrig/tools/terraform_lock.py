"""Who holds a state lock, as Terraform says it when it does not get the lock itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

SUMMARY = "Error acquiring the state lock"
_FIELD = re.compile(r"^\s*(ID|Path|Operation|Who|Version|Created):[ \t]*(.*?)\s*$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class StateLock:
    """`id` is what force-unlock wants; empty where the backend does not know it (an Azure blob lease)."""

    id: str
    who: str  # user@host
    created: str  # as Terraform writes it, UTC
    operation: str

    @property
    def host(self) -> str:
        return self.who.rpartition("@")[2]

    def __str__(self) -> str:
        return f"{self.who or 'somebody'}, {self.operation or 'an operation'} since {self.created or 'an unknown time'}"


def parse(text: str) -> StateLock | None:
    """The lock that an error text tells of; None when it tells of none."""
    if SUMMARY not in text:
        return None
    found = dict(_FIELD.findall(text))
    return StateLock(
        id=found.get("ID", ""),
        who=found.get("Who", ""),
        created=found.get("Created", ""),
        operation=found.get("Operation", "").removeprefix("OperationType"),
    )
