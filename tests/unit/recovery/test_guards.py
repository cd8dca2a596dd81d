from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainrig.model.job import Guard, Guards
from trainrig.recovery.guards import Breach, Signs, breaches

ALL = Guards(idle=Guard(limit=1800, do="stop"), silence=Guard(limit=30), disk=Guard(limit=90, do="checkpoint"))


@pytest.mark.parametrize(
    ("signs", "said"),
    [
        (Signs(), []),
        (Signs(idle_seconds=1799, silent_seconds=29.9, disk_percent=90), []),
        (Signs(idle_seconds=1800), [Breach(guard="idle", do="stop", reason="no GPU was in use for 30 min")]),
        (Signs(silent_seconds=31), [Breach(guard="silence", do="warn", reason="the job wrote nothing for 31 s")]),
        (
            Signs(disk_percent=91),
            [Breach(guard="disk", do="checkpoint", reason="a node's disk is 91 % full, more than 90 %")],
        ),
    ],
)
def test_a_limit_that_is_passed_says_what_to_do(signs: Signs, said: list[Breach]) -> None:
    assert list(breaches(ALL, signs)) == said


@given(
    st.builds(
        Signs,
        idle_seconds=st.none() | st.floats(0, 1e6),
        silent_seconds=st.floats(0, 1e6),
        disk_percent=st.none() | st.integers(0, 100),
    )
)
def test_what_is_not_asked_for_is_not_looked_at(signs: Signs) -> None:
    assert list(breaches(Guards(), signs)) == []
    only = Guards(silence=ALL.silence)
    assert {b.guard for b in breaches(only, signs)} <= {"silence"}
    unknown = Signs(silent_seconds=signs.silent_seconds)
    assert {b.guard for b in breaches(ALL, unknown)} <= {"silence"}
