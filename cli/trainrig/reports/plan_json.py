"""The `trainrig.plan/1` document: the placement, and what a reviewer approves with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from trainrig.model import money
from trainrig.model.clock import iso
from trainrig.model.placement import CostParts
from trainrig.model.plan import LATE_BOUND, Finding, Plan, PlannedResource, Rule
from trainrig.model.rig import RigIdentity
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
        "work": dict(plan.work),
        "policy": [{"code": r.code, "says": r.says, "holds": r.holds} for r in plan.policy],
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


def from_document(document: Mapping[str, Any], identity: RigIdentity, lease_seconds: int) -> Plan:
    """The plan that `to_document` wrote; who the rig is lies beside it.

    Raises:
        KeyError, ValueError: it is not one.
    """
    if document.get("schema") != SCHEMA:
        raise ValueError(f"not a {SCHEMA} document: {document.get('schema')!r}")
    return Plan(
        identity=identity,
        placement=placement_json.from_document({**document, "schema": placement_json.SCHEMA}),
        offline=document["offline"],
        digest=document["digest"],
        terraform_digest=document["terraform_digest"],
        expires_at=datetime.fromisoformat(document["expires_at"]),
        resources=tuple(
            PlannedResource(
                address=r["address"],
                type=r["type"],
                actions=tuple(r["actions"]),
                sensitive=r["sensitive"],
                values=r["values"],
            )
            for r in document["resource_changes"]
        ),
        findings=tuple(Finding(**f) for f in document["findings"]),
        unknown=tuple(document["unknown"]),
        pins=document["pins"],
        lease_seconds=lease_seconds,
        work=document.get("work", {}),
        policy=tuple(Rule(**r) for r in document.get("policy", ())),
    )
