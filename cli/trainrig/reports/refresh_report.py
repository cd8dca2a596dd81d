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
    def source(self) -> str: ...
    @property
    def offers(self) -> int: ...
    @property
    def refused(self) -> tuple[Refused, ...]: ...
    @property
    def error(self) -> RigError | None: ...


def document(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "schema": "trainrig.offers-refresh/1",
        "clouds": [
            {
                "cloud": o.cloud,
                "source": o.source,
                "offers": o.offers,
                "refused_rows": len(o.refused),
                "refused": by_reason(o.refused),
                "error": o.error and {"code": o.error.code, "message": o.error.message, "hint": o.error.hint},
            }
            for o in outcomes
        ],
    }


def text(outcome: Outcome) -> str:
    """One cloud: a line, and one more for each reason why rows were refused."""
    if outcome.error:
        first = f"{outcome.cloud}: kept as it was. {render(outcome.error)}"
    else:
        first = f"{outcome.cloud}: {outcome.offers} offers from {outcome.source}"
    return "\n".join([first, *(f"  left out {line}" for line in by_reason(outcome.refused))])
