"""The `trainrig.event/1` document; its schema is in data/schemas."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from trainrig.model.clock import iso
from trainrig.model.money import text
from trainrig.model.offer import Offer
from trainrig.model.rig import RigIdentity


def document(
    event: str,
    identity: RigIdentity,
    *,
    at: datetime,
    generation: int,
    message: str,
    offer: Offer | None,
    cost_usd: Decimal,
    exit_code: int | None = None,
    detail: str = "",
) -> dict[str, Any]:
    """`id` is the same when the same is told again; `detail` tells several of one kind in a generation apart."""
    return {
        "schema": "trainrig.event/1",
        "id": "-".join(filter(None, [identity.run_id, str(generation), event, detail])),
        "event": event,
        "at": iso(at),
        "name": identity.name,
        "run_id": identity.run_id,
        "generation": generation,
        "owner": identity.owner,
        "project": identity.project,
        "environment": identity.environment,
        "message": message,
        "where": None
        if offer is None
        else {
            "cloud": offer.cloud,
            "region": offer.region,
            "zone": offer.zone,
            "instance_type": offer.instance_type,
            "market": offer.market.value,
        },
        "cost_usd": text(cost_usd),
        "exit_code": exit_code,
    }
