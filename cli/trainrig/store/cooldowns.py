"""Remembers where not to buy for a while, because the cloud has just said no."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta

from trainrig.model.cooldown import Cooldown
from trainrig.model.fault import FaultClass
from trainrig.model.offer import Market, Offer
from trainrig.store.journal import Journal

CAPACITY = timedelta(minutes=30)  # a zone that was out of one type
QUOTA = timedelta(hours=1)  # a limit of the account on a family in a region


def remember(
    journal: Journal, offer: Offer, fault: FaultClass, reason: str, now: datetime, account: str = ""
) -> Cooldown:
    """After a capacity fault the type rests in its zone; after a quota fault, which counts a whole family, everything
    with that GPU rests in the region, in that account."""
    if fault is FaultClass.QUOTA:
        cooldown = Cooldown(
            cloud=offer.cloud,
            until=now + QUOTA,
            reason=reason,
            region=offer.region,
            gpu=offer.gpu,
            instance_type=None if offer.gpu else offer.instance_type,
            market=offer.market,
            account=account,
        )
    else:
        cooldown = Cooldown(
            cloud=offer.cloud,
            until=now + CAPACITY,
            reason=reason,
            region=offer.region,
            zone=offer.zone,
            instance_type=offer.instance_type,
            market=offer.market,
        )
    journal.db.execute(
        "INSERT INTO cooldowns (cloud, region, zone, instance_type, gpu, market, reason, until, account)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            cooldown.cloud,
            cooldown.region,
            cooldown.zone,
            cooldown.instance_type,
            cooldown.gpu,
            cooldown.market,
            cooldown.reason,
            int(cooldown.until.timestamp()),
            cooldown.account,
        ),
    )
    return cooldown


def active(journal: Journal, now: datetime) -> tuple[Cooldown, ...]:
    """Those that are not over; what is over is forgotten."""
    seconds = int(now.timestamp())
    journal.db.execute("DELETE FROM cooldowns WHERE until <= ?", (seconds,))
    rows = journal.db.execute("SELECT * FROM cooldowns ORDER BY until, id").fetchall()
    return tuple(_cooldown(r) for r in rows)


def _cooldown(row: sqlite3.Row) -> Cooldown:
    return Cooldown(
        cloud=row["cloud"],
        until=datetime.fromtimestamp(row["until"], UTC),
        reason=row["reason"],
        region=row["region"],
        zone=row["zone"],
        instance_type=row["instance_type"],
        gpu=row["gpu"],
        market=Market(row["market"]),
        account=row["account"],
    )
