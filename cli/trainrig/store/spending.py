"""What an environment has spent, by account: for its budgets and credits."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from trainrig.store.journal import Journal
from trainrig.store.ledger import charges


def by_account(
    journal: Journal, environment: str, now: datetime, since: datetime | None = None
) -> dict[tuple[str, str], Decimal]:
    """By (cloud, account): dollars of nodes, running ones until now; with `since`, only of the time after it."""
    accounts = {
        (row["run_id"], row["generation"], row["number"]): (row["cloud"], row["account"])
        for row in journal.db.execute(
            "SELECT run_id, generation, number, cloud, account FROM attempts JOIN rigs USING (run_id)"
            " WHERE environment = ?",
            (environment,),
        )
    }
    spent: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for charge in charges(journal):
        account = accounts.get((charge.run_id, charge.generation, charge.number))
        if account is None:
            continue
        if since is not None and charge.started_at < since:  # and so were its earlier tries
            charge = replace(charge, started_at=since, before_seconds=0)
        spent[account] += charge.usd(now)
    return dict(spent)
