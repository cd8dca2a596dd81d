"""Finds everything of ours in the clouds of an environment, and reaps what is past its lease.

It needs no journal and no state, so it can run anywhere on a schedule. A run is past its lease when the last of its
resources is: an extended lease may reach some of them later than others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from trainrig.clouds.base import Resource
from trainrig.errors import RigBusy, RigError, RigUnknown
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.destroy import destroy, destroy_by_label
from trainrig.lifecycle.price_found import priced
from trainrig.lifecycle.reap import everywhere, look
from trainrig.model.proof import Proof
from trainrig.model.status import Found, SweepResult
from trainrig.tools import interrupt


def sweep(context: Context, *, delete: bool) -> SweepResult:
    """Looks in all regions that the environment allows. Without `delete` it only tells."""
    resources: list[Resource] = []
    doubts: list[str] = []
    for place in everywhere(context):
        try:
            resources += look(context, place, None)
        except RigError as error:
            doubts.append(f"{place.title} could not be asked: {error.message}")
    resources = priced(resources)
    expired = _expired(context, resources)
    found = tuple(_found(r, expired=r.run_id in expired) for r in resources)
    if delete:
        with interrupt.handled():
            for run_id in sorted(expired):
                found = _after(found, run_id, _destroy(context, run_id))
    return SweepResult(found=found, doubts=tuple(doubts), deleted=delete)


def _expired(context: Context, resources: Iterable[Resource]) -> set[str]:
    last: dict[str, float] = {}
    for r in resources:
        if r.run_id and r.expires_at:
            last[r.run_id] = max(last.get(r.run_id, 0.0), r.expires_at.timestamp())
    now = context.now().timestamp()
    return {run_id for run_id, end in last.items() if end < now}


def _destroy(context: Context, run_id: str) -> Proof | str:
    """Through the journal where this machine has one of the run, since it knows the state too."""
    try:
        rig = context.journal.rig(run_id)
    except RigUnknown:
        return destroy_by_label(context, run_id)
    try:
        return destroy(context, rig)
    except RigBusy as error:
        return error.message


def _found(resource: Resource, *, expired: bool) -> Found:
    return Found(
        cloud=resource.cloud,
        region=resource.region,
        type=resource.type,
        id=resource.id,
        name=resource.name,
        run_id=resource.run_id,
        expires_at=resource.expires_at,
        expired=expired,
        price_hour_usd=resource.price_hour_usd,
    )


def _after(found: tuple[Found, ...], run_id: str, outcome: Proof | str) -> tuple[Found, ...]:
    """What was found, with what became of the resources of one run."""
    if isinstance(outcome, str):
        return tuple(replace(f, detail=outcome) if f.run_id == run_id else f for f in found)
    left = {f.id: f.detail for f in outcome.left}
    doubt = "; ".join(outcome.doubts)
    return tuple(
        replace(f, gone=f.id not in left and not doubt, detail=left.get(f.id, doubt)) if f.run_id == run_id else f
        for f in found
    )
