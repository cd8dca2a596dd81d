from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainrig.recovery.work import Line, progress_of, work

START = datetime(2026, 1, 1, tzinfo=UTC)


def started(hours: float, generation: int = 1, **data: Any) -> Line:
    return START + timedelta(hours=hours), "job_started", {"generation": generation, **data}


def saved(hours: float, progress: str | None = None, generation: int = 1) -> Line:
    """Written down a little later than it was saved."""
    at = START + timedelta(hours=hours)
    return (
        at + timedelta(minutes=1),
        "checkpoint",
        {
            "generation": generation,
            "saved_at": at.timestamp(),
            "progress": progress,
        },
    )


def ended(hours: float) -> Line:
    return START + timedelta(hours=hours), "job_ended", {"kind": "lost"}


@pytest.mark.parametrize(
    ("lines", "done", "left"),
    [
        ([], 0, 10),
        ([started(0)], 0, 10),
        ([started(0), saved(1), saved(3)], 3, 7),
        # what came after the last checkpoint is lost, and the time without a rig is no work
        ([started(0), saved(1), saved(3), ended(5), started(6)], 3, 7),
        ([started(0), saved(1), saved(3), ended(5), started(6), saved(7), saved(9)], 6, 4),
        # a later start also loads what was saved: no more than from checkpoint to checkpoint counts
        ([started(0), saved(1), saved(2), ended(2), started(3), saved(7)], 3, 7),
        # only one checkpoint each: no more than the longest start counts
        ([started(0), saved(2), ended(2), started(3), saved(4)], 3, 7),
        # more than expected: nothing is left, and no less than nothing
        ([started(0), saved(12)], 12, 0),
        # a node's clock that is behind takes no work back
        ([started(4), saved(1), saved(5)], 1, 9),
        # nothing was ever safe
        ([started(0), ended(5), started(6)], 0, 10),
        # the job on the same nodes again: a checkpoint before the start is not of it
        ([started(0), saved(2), started(4), saved(2), saved(5)], 3, 7),
    ],
)
def test_what_is_left_is_what_no_checkpoint_holds(lines: list[Line], done: float, left: float) -> None:
    found = work(lines, Decimal(10))
    assert (float(found.done_hours), float(found.left_hours or 0)) == pytest.approx((done, left))
    assert found.done_share is None


def test_how_long_the_whole_job_takes_stands_with_its_start_or_nobody_knows() -> None:
    assert work([started(0, work_hours="5"), saved(2)]).left_hours == 3
    assert work([started(0), saved(2)]).left_hours is None
    assert work([started(0, work_hours=None), saved(2)]).left_hours is None


@pytest.mark.parametrize(
    ("lines", "whole", "left"),
    [
        # half an hour a tenth, as measured; what was expected does not count any more
        ([started(0), saved(1, "0.1"), saved(1.5, "0.2"), saved(2, "0.3")], "40", "3.5"),
        ([started(0), saved(1, "0.1"), saved(2, "0.3")], None, "3.5"),
        # too little lies between to say how fast it is
        ([started(0), saved(1, "0.100"), saved(2, "0.101")], "40", "35.96"),
        ([started(0), saved(1, "0.1")], "40", "36"),
        ([started(0), saved(1, "0.1")], None, None),
        # the first checkpoint of a run that goes on from another one's says nothing of its speed
        ([started(0), saved(1, "0.8"), saved(2, "0.9")], "40", "1"),
        # what was lost with a rig is not measured
        ([started(0), saved(1, "0.1"), saved(2, "0.2"), ended(3), started(8), saved(9, "0.3")], None, "7"),
        ([started(0), saved(1, "0.5"), saved(2, "1")], None, "0"),
    ],
)
def test_a_job_that_tells_its_progress_is_believed(lines: list[Line], whole: str | None, left: str | None) -> None:
    found = work(lines, None if whole is None else Decimal(whole))
    if left is None:
        assert found.left_hours is None
    else:
        assert float(found.left_hours or 0) == pytest.approx(float(left))
    assert found.done_share is not None


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("0.42\n", "0.42"),
        ("420/1000", "0.42"),
        (" 3 / 4 ", "0.75"),
        ("0", "0"),
        ("1", "1"),
        ("1.5", None),
        ("-0.1", None),
        ("1/0", None),
        ("0/0", None),
        ("NaN", None),
        ("half", None),
        ("", None),
        ("3/4/5", None),
    ],
)
def test_progress_is_a_share_or_steps_of_steps(text: str, share: str | None) -> None:
    assert progress_of(text) == (None if share is None else Decimal(share))


@given(st.text())
def test_progress_is_never_what_it_cannot_be(text: str) -> None:
    found = progress_of(text)
    assert found is None or 0 <= found <= 1


LINES = st.lists(
    st.one_of(
        st.builds(started, st.floats(0, 50)),
        st.builds(saved, st.floats(0, 50), st.none() | st.sampled_from(("0", "0.1", "0.5", "1"))),
        st.builds(ended, st.floats(0, 50)),
    ),
    max_size=12,
).map(lambda lines: sorted(lines, key=lambda one: one[0]))


@given(LINES, st.decimals(0, 100, places=2))
def test_never_less_than_nothing_is_left_and_never_more_than_time_has_passed_is_done(
    lines: list[Line], whole: Decimal
) -> None:
    found = work(lines, whole)
    assert found.left_hours is not None
    assert found.left_hours >= 0
    assert 0 <= found.done_hours <= 50


@given(LINES.filter(bool), st.decimals(0, 100, places=2))
def test_another_checkpoint_never_takes_work_back(lines: list[Line], whole: Decimal) -> None:
    lines = [line for line in lines if line[2].get("progress") is None]
    more = [*lines, saved(51)]
    assert (work(more, whole).left_hours or 0) <= (work(lines, whole).left_hours or 0)
