from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from support.rigs import NOW, candidate, identity
from trainrig.store import ledger
from trainrig.store.journal import Journal


def test_a_bill_adds_up_to_the_cent(tmp_path: Path) -> None:
    journal = Journal(tmp_path, now=lambda: NOW)
    journal.intend(identity(), details={})
    for price, nodes, seconds in (("1.117", 3, 100), ("0.333", 1, 3601), ("32.7726", 2, 7)):
        attempt = journal.start_attempt("abcd2345", 1, candidate(nodes, price_hour_usd=Decimal(price)))
        ledger.begin(journal, attempt, NOW)
        ledger.end(journal, attempt, NOW + timedelta(seconds=seconds))
    later = NOW + timedelta(days=1)
    lines = [c.usd(later) for c in ledger.charges(journal, "abcd2345")]
    assert lines == [Decimal("0.09"), Decimal("0.33"), Decimal("0.13")]
    assert ledger.cost(journal, "abcd2345", later) == sum(lines)
    journal.close()


def test_a_running_attempt_bills_until_now_and_the_first_end_counts(tmp_path: Path) -> None:
    journal = Journal(tmp_path, now=lambda: NOW)
    journal.intend(identity(), details={})
    attempt = journal.start_attempt("abcd2345", 1, candidate(2, price_hour_usd=Decimal("2.00")))
    ledger.begin(journal, attempt, NOW)
    ledger.begin(journal, attempt, NOW + timedelta(hours=9))
    assert ledger.cost(journal, "abcd2345", NOW + timedelta(minutes=30)) == Decimal("2.00")
    ledger.end(journal, attempt, NOW + timedelta(hours=1))
    ledger.end(journal, attempt, NOW + timedelta(hours=5))
    assert ledger.cost(journal, "abcd2345", NOW + timedelta(hours=9)) == Decimal("4.00")
    journal.close()
