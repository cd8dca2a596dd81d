"""What a refresh or an import of the catalogue did, as text and as the `trainrig.offers-refresh/1` document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from trainrig.catalog.imported import Refused, by_reason
from trainrig.errors import RigError, render


class Outcome(Protocol):
    @property
    def cloud(self) -> str: ...
    @property
    def account(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def offers(self) -> int: ...
    @property
    def refused(self) -> tuple[Refused, ...]: ...
    @property
    def error(self) -> RigError | None: ...
    @property
    def quotas(self) -> int: ...
    @property
    def quota_error(self) -> RigError | None: ...


def document(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "schema": "trainrig.offers-refresh/1",
        "clouds": [
            {
                "cloud": o.cloud,
                "account": o.account or None,
                "source": o.source,
                "offers": o.offers,
                "refused_rows": len(o.refused),
                "refused": by_reason(o.refused),
                "error": _error(o.error),
                "quotas": o.quotas,
                "quota_error": _error(o.quota_error),
            }
            for o in outcomes
        ],
    }


def _error(error: RigError | None) -> dict[str, str] | None:
    return None if error is None else {"code": error.code, "message": error.message, "hint": error.hint}


def text(outcome: Outcome) -> str:
    """One cloud: a line, and one more for each reason why rows were refused or quotas are not known."""
    whose = " ".join(filter(None, (outcome.cloud, outcome.account)))
    if outcome.error:
        first = f"{whose}: kept as it was. {render(outcome.error)}"
    else:
        quotas = f", {outcome.quotas} quota{'' if outcome.quotas == 1 else 's'}" if outcome.quotas else ""
        offers = f"{outcome.offers} offers from {outcome.source}" if outcome.offers else "no offers of its own"
        first = f"{whose}: {offers}{quotas}"
    unread = [f"  quotas not read: {render(outcome.quota_error)}"] if outcome.quota_error else []
    return "\n".join([first, *(f"  left out {line}" for line in by_reason(outcome.refused)), *unread])
