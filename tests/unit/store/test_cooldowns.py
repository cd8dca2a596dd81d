from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from support.rigs import NOW, offer
from trainrig.model.fault import FaultClass
from trainrig.model.offer import Market
from trainrig.store import cooldowns
from trainrig.store.journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path)
    yield journal
    journal.close()


def test_no_capacity_rests_the_type_in_its_zone(journal: Journal) -> None:
    made = cooldowns.remember(journal, offer(), FaultClass.CAPACITY, "none left", NOW)
    assert cooldowns.active(journal, NOW) == (made,)
    assert made.covers(offer())
    assert not made.covers(offer(zone="us-east-1b"))
    assert not made.covers(offer(market=Market.ON_DEMAND))


def test_a_used_up_quota_rests_the_gpu_in_the_region(journal: Journal) -> None:
    made = cooldowns.remember(journal, offer(), FaultClass.QUOTA, "quota", NOW)
    assert cooldowns.active(journal, NOW) == (made,)
    assert made.covers(offer(zone="us-east-1b", instance_type="p4de.24xlarge"))
    assert not made.covers(offer(region="us-west-2"))
    assert not made.covers(offer(gpu="T4"))


@pytest.mark.parametrize(("fault", "minutes"), [(FaultClass.CAPACITY, 30), (FaultClass.QUOTA, 60)])
def test_a_cooldown_ends(journal: Journal, fault: FaultClass, minutes: int) -> None:
    cooldowns.remember(journal, offer(), fault, "no", NOW)
    end = NOW + timedelta(minutes=minutes)
    assert len(cooldowns.active(journal, end - timedelta(seconds=1))) == 1
    assert cooldowns.active(journal, end) == ()
