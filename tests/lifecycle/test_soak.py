"""Runs to which everything happens, at moments that nobody chose: kills, preemptions, full zones, stores that are away.

`TRAINRIG_SOAK=200 pytest tests/lifecycle/test_soak.py` for a long one, or `python -m support.soak 0 200`; the seed of a
failure is in its name.
"""

from __future__ import annotations

import os

import pytest

from support import crash
from support.soak.judge import judged

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

SEEDS = range(int(os.environ.get("TRAINRIG_SOAK", "4")))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_ends_as_it_should_whatever_happens(site: crash.Site, seed: int) -> None:
    assert judged(site, seed) == []
