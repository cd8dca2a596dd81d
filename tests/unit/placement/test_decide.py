from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from support.offers import COSTS, NOW, codes, environment, job, offer, option, placed
from trainrig.clouds.aws.tariff import TARIFF as AWS
from trainrig.model.cooldown import Cooldown
from trainrig.model.environment import CloudPolicy
from trainrig.model.job import GpuRequest, PlacementWishes
from trainrig.model.offer import Market


def test_the_cheapest_is_chosen_and_the_others_follow_in_order_of_cost() -> None:
    cheap, middle, dear = offer("10"), offer("11", region="us-east-2"), offer("12", region="us-west-2")

    placement = placed([dear, cheap, middle])

    assert [c.offer for c in placement.candidates] == [cheap, middle, dear]
    assert placement.rejections == ()
    assert placement.chosen is not None
    assert placement.chosen.expected_cost_usd == Decimal("100.00")


def test_nothing_that_fits_leaves_nothing_chosen() -> None:
    placement = placed([offer(gpu="V100")])

    assert placement.chosen is None
    assert codes(placement) == {"p4d.24xlarge@us-east-1": "gpu_mismatch"}


def test_of_several_options_the_reason_is_the_one_that_got_furthest() -> None:
    options = (option(cloud="gcp"), option(cloud="aws", region="eu-west-1"))

    placement = placed([offer()], job(options=options))

    assert codes(placement) == {"p4d.24xlarge@us-east-1": "region_not_allowed"}


def test_ordered_options_are_tried_in_the_order_written() -> None:
    options = (option(cloud="gcp"), option(cloud="aws"))
    gcp, aws = offer("20", cloud="gcp"), offer("10")

    assert [c.offer for c in placed([aws, gcp], job(options=options, ordered=True)).candidates] == [gcp, aws]
    assert [c.offer for c in placed([aws, gcp], job(options=options)).candidates] == [aws, gcp]


def test_a_list_of_gpus_is_an_order_and_a_set_is_not() -> None:
    gpus = (GpuRequest(name="H100", count=8), GpuRequest(name="A100", count=8))
    a100, h100 = offer("10"), offer("50", gpu="H100", instance_type="p5.48xlarge")

    assert placed([a100, h100], job(options=(option(gpus=gpus, gpus_ordered=True),))).candidates[0].offer == h100
    assert placed([a100, h100], job(options=(option(gpus=gpus),))).candidates[0].offer == a100


def test_the_written_failover_order_comes_before_cost() -> None:
    team = environment(failover=("gcp/us-central1", "aws"))
    aws, gcp, other = (
        offer("10"),
        offer("20", cloud="gcp", region="us-central1"),
        offer("5", cloud="gcp", region="asia"),
    )

    assert [c.offer for c in placed([aws, gcp, other], None, team).candidates] == [gcp, aws, other]


def test_the_written_failover_order_may_name_zones() -> None:
    team = environment(failover=("aws/us-east-1/use1-az4", "aws/us-east-1"))
    first, second = offer("10", zone="use1-az4"), offer("5", zone="use1-az1")

    assert [c.offer for c in placed([second, first], None, team).candidates] == [first, second]


def test_fallbacks_beyond_the_number_asked_for_are_rejected_and_said() -> None:
    offers = [offer(str(10 + i), region=f"us-{i}") for i in range(4)]

    placement = placed(offers, job(placement=PlacementWishes(fallbacks=1)))

    assert [c.offer for c in placement.candidates] == offers[:2]
    assert set(codes(placement).values()) == {"beyond_fallbacks"}
    assert len(placement.rejections) == 2


def test_a_cooldown_covers_what_it_names_until_it_ends() -> None:
    cold = Cooldown(cloud="aws", region="us-east-1", gpu="A100", until=NOW + timedelta(hours=1), reason="quota refused")

    assert codes(placed([offer()], cooldowns=[cold])) == {"p4d.24xlarge@us-east-1": "cooldown"}
    assert placed([offer(region="us-east-2")], cooldowns=[cold]).chosen is not None
    assert placed([offer()], cooldowns=[replace(cold, until=NOW)]).chosen is not None


def test_a_stale_price_is_refused_only_where_a_newer_one_is_known() -> None:
    old = NOW - timedelta(days=90)
    stale, fresh = offer("9", zone="use1-az1", captured_at=old), offer("10", zone="use1-az2")

    assert codes(placed([stale, fresh])) == {"p4d.24xlarge@use1-az1": "stale_price"}
    alone = placed([stale])
    assert alone.chosen is not None
    assert "stale_price" in {w.code for w in alone.warnings}


def test_a_market_that_the_environment_does_not_buy() -> None:
    team = environment(clouds=(CloudPolicy(cloud="aws", markets=(Market.ON_DEMAND,)),))

    assert codes(placed([offer("3", market=Market.SPOT)], None, team)) == {
        "p4d.24xlarge@us-east-1": "market_not_allowed"
    }


def test_a_cloud_without_a_module_is_known_by_its_prices_only() -> None:
    team = environment(clouds=(CloudPolicy(cloud="lambda"),))

    assert codes(placed([offer(cloud="lambda")], None, team)) == {"p4d.24xlarge@us-east-1": "cloud_disabled"}


def test_a_zone_that_must_be_opted_in_to_is_said() -> None:
    aws = {**COSTS, "aws": replace(COSTS["aws"], tariff=replace(COSTS["aws"].tariff, opt_in_zones=AWS.opt_in_zones))}
    placement = placed([offer("5", zone="use1-atl2-az1"), offer("6", zone="use1-az1")], costs=aws)
    assert [c.offer.zone for c in placement.candidates] == ["use1-atl2-az1", "use1-az1"]
    assert placement.candidates[0].reasons == ("use1-atl2-az1 is a zone that the account must have opted in to",)
    assert placement.candidates[1].reasons == ()
