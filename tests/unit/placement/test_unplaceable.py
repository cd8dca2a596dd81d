from __future__ import annotations

from decimal import Decimal

from support.offers import environment, job, offer, placed
from trainrig.errors import OverBudget, Unplaceable
from trainrig.model.placement import RejectionCode
from trainrig.placement.decide import STAGE
from trainrig.placement.unplaceable import error


def test_the_reason_closest_to_a_yes_is_told() -> None:
    found = error(placed([offer(gpu="V100"), offer(gpu="L4"), offer("10")], job(budget_usd=Decimal(40))))

    assert isinstance(found, OverBudget)
    assert "none of 3 offers fits; the last 1 were rejected for budget" in found.message
    assert "expected $100.00; the job's budget is $40.00" in found.message
    assert found.details == {"rejections": {"budget": 1, "gpu_mismatch": 2}}


def test_every_code_has_its_place() -> None:
    assert set(STAGE) == set(RejectionCode)


def test_no_offers_at_all() -> None:
    found = error(placed([]))

    assert type(found) is Unplaceable
    assert found.hint == "trainrig offers refresh"


def test_a_cloud_that_is_not_allowed() -> None:
    assert "cloud_not_allowed" in error(placed([offer()], None, environment(clouds=()))).message


def test_what_other_clouds_sell_is_told_with_the_way_to_it() -> None:
    clouds = environment().clouds
    found = error(placed([offer(gpu="L4"), offer(cloud="gcp")], None, environment(clouds=clouds[:1])))

    assert "gpu_mismatch" in found.message
    assert found.hint == "offers on clouds that this environment does not have: 1; choose another with --env"
