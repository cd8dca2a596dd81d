"""The `trainrig.status/1`, `trainrig.drift/1` and `trainrig.sweep/1` documents; their schemas are in data/schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trainrig.model import money
from trainrig.model.clock import iso
from trainrig.model.status import AttemptStatus, Drift, NodeStatus, RigStatus, SweepResult, Work


def status_document(rigs: Iterable[RigStatus]) -> dict[str, Any]:
    return {"schema": "trainrig.status/1", "rigs": [rig_document(r) for r in rigs]}


def rig_document(rig: RigStatus) -> dict[str, Any]:
    at = rig.current
    return {
        "name": rig.name,
        "run_id": rig.run_id,
        "owner": rig.owner,
        "environment": rig.environment,
        "state": rig.state.value,
        "clean": rig.clean,
        "cloud": at.cloud if at else None,
        "region": at.region if at else None,
        "zone": at.zone if at else None,
        "market": at.market.value if at else None,
        "nodes": [_node(n) for n in rig.nodes],
        "cost_usd": money.text(rig.cost_usd),
        "expires_at": iso(rig.expires_at),
        "attempts": [attempt_document(a) for a in rig.attempts],
        "holder": rig.holder,
        "notes": list(rig.notes),
        "checkpoint_advice": rig.checkpoint_advice,
        "work": _work(rig.work),
    }


def drift_document(rig: str, run_id: str, drift: Iterable[Drift]) -> dict[str, Any]:
    return {
        "schema": "trainrig.drift/1",
        "rig": rig,
        "run_id": run_id,
        "drift": [{"kind": d.kind, "type": d.type, "id": d.id, "detail": d.detail} for d in drift],
    }


def sweep_document(result: SweepResult) -> dict[str, Any]:
    return {
        "schema": "trainrig.sweep/1",
        "resources": [
            {
                "cloud": f.cloud,
                "region": f.region,
                "type": f.type,
                "id": f.id,
                "name": f.name,
                "run_id": f.run_id,
                "expires_at": None if f.expires_at is None else iso(f.expires_at),
                "expired": f.expired,
                "price_hour_usd": None if f.price_hour_usd is None else str(f.price_hour_usd),
                "gone": f.gone,
                "detail": f.detail,
            }
            for f in result.found
        ],
        "price_hour_usd": money.text(result.price_hour_usd),
        "deleted": result.deleted,
        "doubts": list(result.doubts),
        "clean": result.clean,
    }


def _work(work: Work | None) -> dict[str, Any] | None:
    if work is None:
        return None
    return {
        "done_hours": round(float(work.done_hours), 4),
        "left_hours": None if work.left_hours is None else round(float(work.left_hours), 4),
        "progress": None if work.done_share is None else round(float(work.done_share), 4),
    }


def _node(n: NodeStatus) -> dict[str, Any]:
    return {
        "rank": n.node.rank,
        "name": n.node.name,
        "public_ip": n.node.public_ip,
        "private_ip": n.node.private_ip,
        "instance_id": n.node.instance_id,
        "ssh_port": n.node.ssh_port,
        "seen": n.seen,
    }


def attempt_document(a: AttemptStatus) -> dict[str, Any]:
    return {
        "generation": a.generation,
        "number": a.number,
        "cloud": a.cloud,
        "region": a.region,
        "zone": a.zone,
        "instance_type": a.instance_type,
        "market": a.market.value,
        "nodes": a.nodes,
        "price_hour_usd": str(a.price_hour_usd),
        "state": a.state,
        "fault": a.fault.value if a.fault else None,
        "reason": a.reason,
        "started_at": iso(a.started_at),
        "seconds": a.seconds,
        "cost_usd": money.text(a.cost_usd),
        "lost_seconds": a.lost_seconds,
        "tries": a.tries,
    }
