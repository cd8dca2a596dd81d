"""The ledger: node-seconds at the price that was agreed when the attempt began, not at today's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from trainrig.model.money import cents
from trainrig.store.journal import Attempt, Journal

SECONDS_PER_HOUR = Decimal(3600)


@dataclass(frozen=True, kw_only=True, slots=True)
class Charge:
    """What one attempt costs. `ended_at` None: still billing."""

    run_id: str
    generation: int
    number: int
    nodes: int
    price_hour_usd: Decimal  # of one node
    started_at: datetime
    ended_at: datetime | None
    before_seconds: int = 0  # of one node, of earlier tries of the same attempt

    def seconds(self, now: datetime) -> int:
        """Of one node."""
        return self.before_seconds + max(0, int(((self.ended_at or now) - self.started_at).total_seconds()))

    def usd(self, now: datetime) -> Decimal:
        """Rounded to the cent here, so that the lines of a bill add up to its total."""
        return cents(self.price_hour_usd * self.nodes * self.seconds(now) / SECONDS_PER_HOUR)


def begin(journal: Journal, attempt: Attempt, now: datetime) -> None:
    """The first node may exist from now on. Beginning twice is beginning once; one that has ended is tried again."""
    journal.db.execute(
        "INSERT INTO charges (run_id, generation, number, nodes, price_hour_usd, started_at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET before_seconds = before_seconds + ended_at - started_at,"
        " started_at = excluded.started_at, ended_at = NULL WHERE ended_at IS NOT NULL",
        (
            attempt.run_id,
            attempt.generation,
            attempt.number,
            attempt.nodes,
            str(attempt.price_hour_usd),
            int(now.timestamp()),
        ),
    )


def end(journal: Journal, attempt: Attempt, now: datetime) -> None:
    """Its nodes are proven gone. The first end counts."""
    journal.db.execute(
        "UPDATE charges SET ended_at = coalesce(ended_at, ?) WHERE run_id = ? AND generation = ? AND number = ?",
        (int(now.timestamp()), attempt.run_id, attempt.generation, attempt.number),
    )


def charges(journal: Journal, run_id: str | None = None) -> tuple[Charge, ...]:
    """Of one run, or of all."""
    rows = journal.db.execute(
        "SELECT * FROM charges WHERE ? IS NULL OR run_id = ? ORDER BY started_at, run_id, generation, number",
        (run_id, run_id),
    ).fetchall()
    return tuple(
        Charge(
            run_id=r["run_id"],
            generation=r["generation"],
            number=r["number"],
            nodes=r["nodes"],
            price_hour_usd=Decimal(r["price_hour_usd"]),
            started_at=datetime.fromtimestamp(r["started_at"], UTC),
            ended_at=None if r["ended_at"] is None else datetime.fromtimestamp(r["ended_at"], UTC),
            before_seconds=r["before_seconds"],
        )
        for r in rows
    )


def cost(journal: Journal, run_id: str, now: datetime) -> Decimal:
    """What a run has cost until now: the sum of its lines."""
    return sum((c.usd(now) for c in charges(journal, run_id)), Decimal("0.00"))
