"""Numbers computed apart from the code, from the formulas of docs/placement.md."""

from __future__ import annotations

from decimal import Decimal

import pytest

from trainrig.placement.preemption import run


def hours(*values: str) -> list[Decimal]:
    return [Decimal(v) for v in values]


def test_without_preemption_a_run_takes_its_work_and_its_setup() -> None:
    found = run(work=Decimal(10), setup=Decimal("0.2"), per_hour=Decimal(0), interval=None)

    assert found is not None
    assert (found.billed_hours, found.preemptions, found.p90_hours) == (Decimal("10.2"), Decimal(0), Decimal("10.2"))


@pytest.mark.parametrize(
    ("work", "setup", "per_hour", "interval", "expected"),
    [
        ("40", "0.2", "0.1", "0.25", ("41.5244", "4.1524", "42.3939")),
        ("10", "0.5", "0.2", "0.5", ("12.1490", "2.4298", "13.6748")),
    ],
)
def test_checkpoints_limit_what_a_preemption_takes(
    work: str, setup: str, per_hour: str, interval: str, expected: tuple[str, str, str]
) -> None:
    found = run(work=Decimal(work), setup=Decimal(setup), per_hour=Decimal(per_hour), interval=Decimal(interval))

    assert found is not None
    exact = (found.billed_hours, found.preemptions, found.p90_hours)
    assert [h.quantize(Decimal("0.0001")) for h in exact] == hours(*expected)


def test_without_a_checkpoint_everything_is_lost_each_time() -> None:
    # (e^(0.1 x 10.2) - 1) / 0.1
    found = run(work=Decimal(10), setup=Decimal("0.2"), per_hour=Decimal("0.1"), interval=None)

    assert found is not None
    assert found.billed_hours.quantize(Decimal("0.0001")) == Decimal("17.7319")


def test_a_checkpoint_that_is_never_reached_is_no_checkpoint() -> None:
    rare = run(work=Decimal(1), setup=Decimal("0.2"), per_hour=Decimal("0.1"), interval=Decimal(5))
    none = run(work=Decimal(1), setup=Decimal("0.2"), per_hour=Decimal("0.1"), interval=None)

    assert rare == none


@pytest.mark.parametrize(("work", "per_hour"), [("48", "0.5"), ("1000", "2"), ("1e30", "0"), ("1e9", "5")])
def test_a_run_that_would_never_finish_is_none(work: str, per_hour: str) -> None:
    assert run(work=Decimal(work), setup=Decimal("0.2"), per_hour=Decimal(per_hour), interval=None) is None
