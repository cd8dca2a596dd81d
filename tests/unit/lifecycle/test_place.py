from __future__ import annotations

from decimal import Decimal

import pytest

from support.offers import NOW, environment, job, offer, option
from trainrig.errors import UsageError
from trainrig.lifecycle.place import open_index, place
from trainrig.model.environment import CloudPolicy
from trainrig.model.job import GpuRequest
from trainrig.model.offer import Market
from trainrig.reports.placement_json import from_document, to_document


def test_the_shipped_offers_place_the_job_of_the_readme() -> None:
    places = (("aws", "us-east-1"), ("aws", "us-west-2"), ("gcp", "us-central1"))
    options = tuple(option(cloud=c, region=r, market=Market.SPOT) for c, r in places)

    placement = place(job(options=options), environment(), now=NOW)

    assert placement.chosen is not None
    # use1-az1 asks 2.4655 while its siblings ask 7.88 to 8.19: not to be believed
    assert placement.chosen.offer.zone != "use1-az1"
    assert {c.offer.gpu for c in placement.candidates} == {"A100"}
    assert from_document(to_document(placement)) == placement


def test_counting_instead_of_listing_changes_no_decision() -> None:
    full = place(job(), environment(), now=NOW)
    quick = place(job(), environment(), now=NOW, complete=False)

    assert quick.candidates == full.candidates
    assert quick.warnings == full.warnings
    assert quick.catalog == full.catalog
    assert len(quick.rejections) + sum(quick.counted.values()) == len(full.rejections)
    assert not full.counted


def test_this_machine_offers_itself() -> None:
    local = environment(clouds=(CloudPolicy(cloud="local"),))

    placement = place(job(options=(option(gpus=()),)), local, now=NOW)

    assert {c.offer.cloud for c in placement.candidates} == {"local"}
    assert {r.code.value for r in placement.rejections} == {"cloud_not_allowed"}


def test_a_cloud_with_prices_but_no_module_is_told_and_one_that_does_not_exist_is_refused() -> None:
    prices_only = environment(clouds=(CloudPolicy(cloud="lambda"),))
    typing_error = environment(clouds=(CloudPolicy(cloud="asw"),))

    codes = {r.code.value for r in place(job(), prices_only, now=NOW).rejections if r.offer.cloud == "lambda"}
    assert codes == {"cloud_disabled"}
    with pytest.raises(UsageError, match="asw"):
        place(job(), typing_error, now=NOW)


def test_refreshed_offers_are_placed() -> None:
    with open_index() as index:
        index.replace("aws", "test", [offer("1.25", gpu="A10G", gpu_count=1, instance_type="g5.xlarge")])

    placement = place(job(options=(option(gpus=(GpuRequest(name="A10G", count=1),)),)), environment(), now=NOW)

    assert placement.chosen is not None
    assert placement.chosen.parts.compute_usd == Decimal("12.50")
