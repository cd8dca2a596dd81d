"""Refuses an apply that its credentials would not live to see the end of: an expired token loses the state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from trainrig.clouds import registry
from trainrig.errors import CredentialsMissing
from trainrig.model.clock import iso
from trainrig.model.placement import Candidate
from trainrig.tools.token_life import token_life

ROLLBACK = timedelta(minutes=10)  # to remove what a candidate that failed half-way has left
_LONGER = {
    "aws": "ask for a longer session: `role-duration-seconds`, at most the role's own limit",
    "gcp": "let the login write a credentials file, which renews itself: `create_credentials_file: true`",
    "azure": "log in again right before apply, in the same job",
}


def require(candidates: Sequence[Candidate], env: Mapping[str, str], now: datetime) -> None:
    """For the first candidate of each cloud; what does not say when it ends is let through.

    Raises:
        CredentialsMissing: an apply with its deadline and its rollback is longer than a token lives.
    """
    for cloud in dict.fromkeys(c.offer.cloud for c in candidates):
        life = token_life(cloud, env)
        needed = timedelta(seconds=registry.facts(cloud).apply_deadline_seconds) + ROLLBACK
        if life is not None and now + needed > life.ends_at:
            raise CredentialsMissing(
                f"the credentials of {cloud} end at {iso(life.ends_at)} ({life.name}), and an apply may take"
                f" {needed.total_seconds() / 60:.0f} minutes with its rollback",
                hint=_LONGER.get(cloud, "log in again, for longer"),
                details={"cloud": cloud, "ends_at": iso(life.ends_at)},
            )
