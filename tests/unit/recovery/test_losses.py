from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from trainrig.recovery.losses import Line, advice, lost_seconds

START = datetime(2026, 1, 1, tzinfo=UTC)


def line(seconds: float, what: str, **data: Any) -> Line:
    return START + timedelta(seconds=seconds), what, {"generation": 1, **data}


def saved(seconds: float, took: float | None = 6.0, **data: Any) -> Line:
    at = (START + timedelta(seconds=seconds)).timestamp()
    return line(seconds + 3, "checkpoint", saved_at=at, save_seconds=took, **data)


STARTED = line(0, "job_started", preemptions_hour="0.10")


@pytest.mark.parametrize(
    ("lines", "lost"),
    [
        ([STARTED, saved(100), saved(200), line(260, "job_ended", kind="lost")], 60),
        ([STARTED, line(260, "job_ended", kind="failed")], 260),
        ([STARTED, saved(250), line(260, "job_ended", kind="done")], 0),
        ([STARTED, saved(100)], None),
        ([line(5, "job_ended", kind="lost")], None),
        # a node's clock that is ahead does not give work back
        ([STARTED, saved(300), line(260, "job_ended", kind="lost")], 0),
        # of another generation
        ([STARTED, saved(100), saved(200, generation=2), line(260, "job_ended", kind="lost")], 160),
    ],
)
def test_what_is_lost_is_what_came_after_the_last_checkpoint(lines: list[Line], lost: int | None) -> None:
    assert lost_seconds(lines, 1) == lost


def test_the_advice_is_young_and_daly_s() -> None:
    lines = [STARTED, saved(900), saved(1800), saved(2700)]
    # sqrt(2 * 6 s * 10 h) is 657 s, less Daly's correction
    assert advice(lines, START + timedelta(seconds=2703)) == (
        "a checkpoint every 11 min would lose least: writing one takes 6 s, and a preemption is to be expected every"
        " 10.8 h; the job writes one every 15 min"
    )


def test_preemptions_that_were_seen_count_with_those_that_are_known() -> None:
    lines = [STARTED, saved(900)]
    for generation in range(1, 11):
        lines += [
            line(generation * 3600, "job_ended", generation=generation, kind="lost"),
            line(generation * 3600, "job_started", generation=generation + 1, preemptions_hour="0.10"),
        ]
    told = advice(lines, START + timedelta(hours=10))
    assert told is not None
    assert "expected every 1.8 h" in told  # (1 + 10) in 20 hours


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [STARTED],
        [STARTED, saved(100, None)],
        [line(0, "job_started"), saved(100)],
        [line(0, "job_started", preemptions_hour="0"), saved(100)],
    ],
    ids=["nothing", "no save", "no duration", "an unknown market", "nothing is taken back"],
)
def test_no_advice_where_nobody_can_know(lines: list[Line]) -> None:
    assert advice(lines, START + timedelta(hours=1)) is None


def test_saves_that_take_no_time_make_no_advice() -> None:
    assert advice([STARTED, saved(900, 0.0), saved(1800, 0.0)], START + timedelta(seconds=2703)) is None
