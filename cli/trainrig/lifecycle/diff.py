"""Compares two plan folders, without what no reviewer can approve: run id, hour, owner and key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from trainrig.model.rig import RigIdentity
from trainrig.render.late_bound import TFVARS, LateBound, meaning_of
from trainrig.reports.plan_diff import PlanDiff, compare
from trainrig.store import plan_folder


def diff(old: Path, new: Path, *, tolerance_percent: Decimal) -> PlanDiff:
    """Raises PlanStale, UsageError: see plan_folder.read."""
    before, after = plan_folder.read(old), plan_folder.read(new)
    return compare(
        before.document("plan.json"),
        after.document("plan.json"),
        roots=(_meaning(before.root), _meaning(after.root)),
        tolerance_percent=tolerance_percent,
    )


def _meaning(root: Mapping[str, str]) -> dict[str, str]:
    values = json.loads(root[TFVARS])
    rig = values["rig"]
    identity = RigIdentity(
        name=rig["name"],
        run_id=rig["labels"]["trainrig-run-id"],
        owner=rig["owner"],
        project=rig["labels"]["trainrig-project"],
        environment=rig["labels"]["trainrig-env"],
        expires_at=datetime.fromisoformat(rig["expires_at"]),
    )
    # Who may reach SSH stays in: it is the first thing to look at.
    return meaning_of(root, LateBound.of(identity, public_key=values["ssh_public_key"], cidrs=()))
