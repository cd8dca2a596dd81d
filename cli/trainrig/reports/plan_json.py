"""The `trainrig.plan/1` document: the placement, and what a reviewer approves with it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from trainrig.model import money
from trainrig.model.clock import iso
from trainrig.model.placement import CostParts
from trainrig.model.plan import LATE_BOUND, Plan, PlannedResource
from trainrig.reports import placement_json

SCHEMA = "trainrig.plan/1"


def to_document(plan: Plan, root: str | None) -> dict[str, Any]:
    """`root` is the path of the Terraform root; None: it was not kept."""
    return {
        **placement_json.to_document(plan.placement),
        "schema": SCHEMA,
        "rig": plan.identity.resource_prefix,
        "run_id": plan.identity.run_id,
        "root": root,
        "digest": plan.digest,
        "terraform_digest": plan.terraform_digest,
        "expires_at": iso(plan.expires_at),
        "offline": plan.offline,
        "unknown": list(plan.unknown),
        "late_bound": list(LATE_BOUND),
        "resources": plan.counts,
        "resource_changes": [_resource(r) for r in plan.resources],
        "cost": _cost(plan),
        "pins": dict(sorted(plan.pins.items())),
        "findings": [{"code": f.code, "detail": f.detail, "address": f.address} for f in plan.findings],
    }


def _resource(r: PlannedResource) -> dict[str, Any]:
    values = None if r.values is None else dict(r.values)
    return {
        "address": r.address,
        "type": r.type,
        "actions": list(r.actions),
        "sensitive": r.sensitive,
        "values": values,
    }


def _cost(plan: Plan) -> dict[str, Any]:
    c = plan.chosen
    hour = None if c.offer.price_hour_usd is None else placement_json.price_text(c.offer.price_hour_usd * c.nodes)
    return {
        "expected_usd": money.text(c.expected_cost_usd),
        "expected_hours": float(c.expected_hours),
        "parts": {f.name: money.text(getattr(c.parts, f.name)) for f in fields(CostParts)},
        "rig_hour_usd": hour,
        "ceiling_hour_usd": placement_json.price_text(plan.ceiling_hour_usd),
        "breakeven_hours": None if c.breakeven_hours is None else float(c.breakeven_hours),
    }
