"""Cool-downs: where not to ask again for a while, because it has just refused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from trainrig.model.fault import FaultClass
from trainrig.model.offer import Market, Offer
from trainrig.store.journal import Journal

CAPACITY = timedelta(minutes=30)  # a zone that was out of one type
QUOTA = timedelta(hours=1)  # a limit of the account in a region


@dataclass(frozen=True, kw_only=True, slots=True)
class Cooldown:
    """`zone` None: the whole region."""

    cloud: str
    region: str
    zone: str | None
    instance_type: str
    market: Market
    reason: str
    until: datetime


def remember(journal: Journal, offer: Offer, fault: FaultClass, reason: str, now: datetime) -> None:
    """After a capacity fault the zone rests, after a quota fault the region; other faults say nothing of a place."""
    if fault not in {FaultClass.CAPACITY, FaultClass.QUOTA}:
        return
    until = now + (CAPACITY if fault is FaultClass.CAPACITY else QUOTA)
    zone = offer.zone if fault is FaultClass.CAPACITY else None
    journal.db.execute(
        "INSERT INTO cooldowns VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET reason = excluded.reason,"
        " until = max(until, excluded.until)",
        (offer.cloud, offer.region, zone or "", offer.instance_type, offer.market, reason, int(until.timestamp())),
    )


def active(journal: Journal, now: datetime) -> tuple[Cooldown, ...]:
    """Those that are not over."""
    rows = journal.db.execute("SELECT * FROM cooldowns WHERE until > ?", (int(now.timestamp()),)).fetchall()
    return tuple(
        Cooldown(
            cloud=r["cloud"],
            region=r["region"],
            zone=r["zone"] or None,
            instance_type=r["instance_type"],
            market=Market(r["market"]),
            reason=r["reason"],
            until=datetime.fromtimestamp(r["until"], UTC),
        )
        for r in rows
    )
