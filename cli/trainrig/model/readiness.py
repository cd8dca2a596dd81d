"""What this machine and its accounts are ready for: what `trainrig check` found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One line of `trainrig check`. `mend` is the command that makes it pass."""

    name: str
    status: Literal["pass", "fail", "skip"]
    detail: str
    mend: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CloudChecks:
    """A cloud is enabled when nothing failed."""

    cloud: str
    title: str
    checks: tuple[Check, ...]
    account: str = ""  # which of the cloud's several accounts

    @property
    def failure(self) -> Check | None:
        """The first that failed: the reason why the cloud is disabled."""
        return next((c for c in self.checks if c.status == "fail"), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Readiness:
    tools: tuple[Check, ...]
    clouds: tuple[CloudChecks, ...]
    buckets: tuple[Check, ...] = ()  # of the environment: for checkpoints, for Terraform's state

    @property
    def ready(self) -> bool:
        """All tools and buckets are there and at least one cloud is enabled."""
        here = all(c.status != "fail" for c in (*self.tools, *self.buckets))
        return here and any(c.failure is None for c in self.clouds)
