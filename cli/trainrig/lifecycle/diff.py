"""Compares two plan folders, without what no reviewer can approve: run id, hour, owner and key."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from trainrig.model.rig import RigIdentity
from trainrig.render.late_bound import TFVARS, LateBound, meaning_of, placeholders, rebind
from trainrig.reports.plan_diff import PlanDiff, compare
from trainrig.store import plan_folder
from trainrig.store.plan_folder import PlanFolder


def diff(old: Path, new: Path, *, tolerance_percent: Decimal) -> PlanDiff:
    """Raises PlanStale, UsageError: see plan_folder.read."""
    (before, root), (after, root_now) = (_meaning(plan_folder.read(path)) for path in (old, new))
    return compare(before, after, roots=(root, root_now), tolerance_percent=tolerance_percent)


def _meaning(folder: PlanFolder) -> tuple[dict[str, Any], dict[str, str]]:
    """The plan and its root, with placeholders for what differs between any two."""
    values = json.loads(folder.root[TFVARS])
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
    late = LateBound.of(identity, public_key=values["ssh_public_key"], cidrs=())
    plan = folder.document("plan.json")
    changes = rebind(plan["resource_changes"], late, placeholders(late))
    return {**plan, "resource_changes": changes}, meaning_of(folder.root, late)
