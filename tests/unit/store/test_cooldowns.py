from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from support.rigs import NOW, candidate, offer
from trainrig.model.fault import FaultClass
from trainrig.store import cooldowns
from trainrig.store.journal import Journal


@pytest.mark.parametrize(("fault", "zone", "hours"), [(FaultClass.CAPACITY, "z-a", 0.5), (FaultClass.QUOTA, None, 1.0)])
def test_a_refusal_rests_its_place_for_a_while(
    tmp_path: Path, fault: FaultClass, zone: str | None, hours: float
) -> None:
    journal = Journal(tmp_path)
    cooldowns.remember(journal, candidate(zone="z-a").offer, fault, "none left", NOW)
    (found,) = cooldowns.active(journal, NOW)
    assert (found.zone, found.until) == (zone, NOW + timedelta(hours=hours))
    assert cooldowns.active(journal, found.until) == ()
    journal.close()


def test_a_wrong_request_says_nothing_of_a_place(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    cooldowns.remember(journal, offer(), FaultClass.CONFIG, "bad argument", NOW)
    assert cooldowns.active(journal, NOW) == ()
    journal.close()
