"""What runs take of the limits of their environments and accounts: kept with each rig, until it is proven gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from trainrig.lifecycle.run_context import RunContext
from trainrig.model.placement import Candidate
from trainrig.placement.admission import Use, full, use_of
from trainrig.store.journal import Journal

DETAIL = "use"


def uses(journal: Journal, *, but: str = "") -> tuple[Use, ...]:
    """Of all runs of which something may exist, in whichever way they were begun; without that of run `but`."""
    # The journal keeps no key whose value is null.
    found = (r.details[DETAIL] for r in journal.rigs() if DETAIL in r.details and r.run_id != but)
    return tuple(Use(**{"gpu": None, **values}) for values in found)


def take(journal: Journal, run_id: str, use: Use) -> None:
    """The run takes this much, in place of what it took."""
    values: dict[str, Any] = asdict(use)
    journal.update_details(run_id, **{DETAIL: values})


def with_room(journal: Journal, run: RunContext, candidates: tuple[Candidate, ...]) -> Iterator[Candidate]:
    """Those on which the run stays within the limits beside all others. A run of the queue always has one: the room
    that it was admitted with is its own. Others are held back by nothing."""
    if not journal.rig(run.run_id).details.get("queued"):
        yield from candidates
        return
    others = uses(journal, but=run.run_id)
    for candidate in candidates:
        if not full(run.environment, use_of(run.environment, candidate), others):
            yield candidate
