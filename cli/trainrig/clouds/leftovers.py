"""Tells what is ours in a list of a cloud's resources: by our labels, else by the name that we would have given it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal

from trainrig.clouds.base import Resource

RUN_ID_LABEL = "trainrig-run-id"
EXPIRES_LABEL = "trainrig-expires"
PREFIX = "tr-"
HOURS_A_MONTH = Decimal(730)

# RigIdentity.resource_prefix, perhaps with more after it. Run ids have no look-alike characters.
_NAME = re.compile(r"tr-[a-z0-9-]+-([a-km-np-z2-9]{8})(?![a-z0-9])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """Why a resource is ours. `run_id` None: only its name says so, and a user may have given such a name."""

    run_id: str | None
    expires_at: datetime | None


def claim(labels: Mapping[str, str], name: str, *, marked: bool = False, run_id: str | None = None) -> Claim | None:
    """None: not ours, or not of the run that is asked for.

    `marked`: something else that we alone write (a description, a path) says that it is ours, so that its name can be
    believed: not everything takes labels.
    """
    labelled = labels.get(RUN_ID_LABEL)
    found = _NAME.match(name)
    named = found[1] if found else None
    if labelled is None and named is None:
        return None
    if run_id is not None and run_id != (labelled or named):
        return None
    seconds = labels.get(EXPIRES_LABEL, "")
    return Claim(
        run_id=labelled or (named if marked or run_id else None),
        expires_at=datetime.fromtimestamp(int(seconds), UTC) if seconds.isdigit() else None,
    )


def with_known_runs(resources: Iterable[Resource]) -> Iterator[Resource]:
    """Lets what lost its labels share in those of its run, where something else of the run still has them."""
    found = list(resources)
    ends: dict[str, datetime | None] = {}
    for resource in found:
        if resource.run_id:
            known = ends.get(resource.run_id)
            ends[resource.run_id] = max(filter(None, (known, resource.expires_at)), default=None)
    for resource in found:
        named = _NAME.match(resource.name)
        run_id = resource.run_id or (named[1] if named and named[1] in ends else None)
        yield replace(resource, run_id=run_id, expires_at=resource.expires_at or ends.get(run_id or ""))
