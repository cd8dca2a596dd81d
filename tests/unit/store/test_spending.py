from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from support.rigs import NOW, candidate, identity
from trainrig.store import ledger, spending
from trainrig.store.journal import Journal


def test_spend_is_by_cloud_and_environment_and_can_begin_at_a_day(tmp_path: Path) -> None:
    journal = Journal(tmp_path, now=lambda: NOW)
    journal.intend(identity(), details={})
    journal.intend(identity(name="other", run_id="other234", environment="another"), details={})
    for run_id, cloud, price in (("abcd2345", "aws", "2"), ("abcd2345", "gcp", "3"), ("other234", "aws", "100")):
        attempt = journal.start_attempt(run_id, 1, candidate(2, cloud=cloud, price_hour_usd=Decimal(price)))
        ledger.begin(journal, attempt, NOW)

    then = NOW + timedelta(hours=2)
    name = identity().environment
    assert spending.by_account(journal, name, then) == {("aws", ""): Decimal("8.00"), ("gcp", ""): Decimal("12.00")}
    assert spending.by_account(journal, name, then, NOW + timedelta(hours=1))["aws", ""] == Decimal("4.00")
    assert spending.by_account(journal, "nobody", then) == {}
    journal.close()
