from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from support import rigs
from support.offers import NOW, environment, job, offer
from trainrig import settings
from trainrig.lifecycle.place import open_index, place
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.fault import FaultClass
from trainrig.model.offer import Market
from trainrig.model.placement import Placement
from trainrig.model.quota import Quota
from trainrig.store import cooldowns, ledger, quota_cache
from trainrig.store.journal import Journal

P4D = offer("30", zone="use1-az1")


@pytest.fixture(autouse=True)
def catalogue(isolated: Path) -> None:
    with open_index() as index:
        index.replace("aws", "test", [P4D])


def aws(**changes: object) -> Environment:
    return environment(clouds=(CloudPolicy(cloud="aws"),), **changes)


def reasons(placement: Placement) -> set[str]:
    return {r.code.value for r in placement.rejections if r.offer.cloud == "aws"}


def test_what_a_cloud_told_of_its_quotas_is_held_against_the_job() -> None:
    limit = Quota(
        cloud="aws",
        region="us-east-1",
        code="L-417A185B",
        unit="vcpus",
        market=Market.ON_DEMAND,
        limit=Decimal(96),
        used=Decimal(0),
    )
    with open_index() as index:
        quota_cache.remember(index, [limit], NOW)

    assert place(job(), aws(), now=NOW).chosen is not None
    assert reasons(place(job(nodes=2), aws(), now=NOW)) == {"quota"}


def test_what_was_spent_this_month_counts_against_the_budget() -> None:
    journal = Journal(settings.home(), now=lambda: NOW)
    journal.intend(rigs.identity(environment="team"), details={})
    attempt = journal.start_attempt(rigs.identity().run_id, 1, rigs.candidate(1, price_hour_usd=Decimal(100)))
    ledger.begin(journal, attempt, NOW)
    ledger.end(journal, attempt, NOW + timedelta(hours=2))
    journal.close()
    later = NOW + timedelta(hours=3)
    # 10 h x 30 and a tenth of it to set up, beside the 200 that are spent
    monthly = aws(budget_month_usd=Decimal(500))

    assert reasons(place(job(), monthly, now=later)) == {"budget"}
    assert place(job(), replace(monthly, name="another"), now=later).chosen is not None


def test_what_refused_a_moment_ago_rests() -> None:
    journal = Journal(settings.home(), now=lambda: NOW)
    cooldowns.remember(journal, P4D, FaultClass.CAPACITY, "no p4d left", NOW)
    journal.close()

    assert reasons(place(job(), aws(), now=NOW)) == {"cooldown"}
    assert place(job(), aws(), now=NOW + timedelta(hours=1)).chosen is not None
