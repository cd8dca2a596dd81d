from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from support.rigs import NOW, candidate, identity
from trainrig.model.fault import FaultClass
from trainrig.store import ledger, spending
from trainrig.store.journal import AttemptState, Journal


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


def test_what_earlier_tries_of_a_place_have_cost_stays_on_the_bill(tmp_path: Path) -> None:
    moments = iter(NOW + timedelta(hours=h) for h in (0, 1, 8, 9, 9))
    journal = Journal(tmp_path, now=lambda: NOW)
    journal.intend(identity(), details={})
    for _ in range(2):
        attempt = journal.start_attempt("abcd2345", 2, candidate(price_hour_usd=Decimal("2.00")))
        ledger.begin(journal, attempt, next(moments))
        ledger.end(journal, attempt, next(moments))
        journal.update_attempt(attempt, AttemptState.GONE, fault=FaultClass.CAPACITY, reason="none is free")
    (charge,) = ledger.charges(journal, "abcd2345")
    assert (charge.number, charge.seconds(NOW)) == (2, 7200)
    assert ledger.cost(journal, "abcd2345", next(moments)) == Decimal("4.00")
    by = spending.by_account(journal, "test", NOW + timedelta(days=1), NOW + timedelta(hours=8, minutes=30))
    assert by == {("aws", ""): Decimal("1.00")}
    journal.close()
