from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from support.offers import environment, job, offer, option, placed
from trainrig.model.job import Checkpoints, GpuRequest, Mount, MountMode
from trainrig.model.offer import Market, Offer
from trainrig.placement import upload


def told(*offers: Offer, **changes: Any) -> dict[str, str]:
    """Notices by code."""
    an_environment = environment(**changes.pop("environment", {}))
    more = changes.pop("more", {})
    return {w.code: w.detail for w in placed(offers or [offer()], job(**changes), an_environment, **more).warnings}


def test_a_plain_job_has_nothing_to_be_warned_of() -> None:
    assert told() == {}


def test_unknown_hours_are_priced_as_one() -> None:
    assert "one hour" in told(expected_hours=None)["expected_hours_unknown"]
    assert "expected_hours_unknown" not in told(expected_hours=None, timeout_seconds=3600)


def test_spot_without_checkpoints() -> None:
    spot = offer(market=Market.SPOT)

    assert "loss of all work" in told(spot)["spot_without_checkpoints"]
    assert told(spot, checkpoints=Checkpoints(path="/c")) == {}
    assert "spot_without_checkpoints" not in told(offer())


def test_hours_are_counted_alike_on_several_gpus() -> None:
    both = option(gpus=(GpuRequest(name="A100", count=8), GpuRequest(name="H100", count=8)))

    notices = told(offer(), offer(gpu="H100", instance_type="p5.48xlarge"), options=(both,))

    assert notices == {"hours_same_for_all_gpus": "10 hours of work are counted on A100, H100 alike"}


def test_a_lease_that_ends_before_the_work() -> None:
    assert "lease ends after 9.0" in told(lease_seconds=9 * 3600)["lease_short"]
    assert "lease_short" in told(environment={"lease_seconds": 3600})


def test_a_name_that_no_gpu_has() -> None:
    wanted = option(gpus=(GpuRequest(name="A1000", count=8),))

    assert "did you mean A100" in told(options=(wanted,))["gpu_unknown"]


def test_a_zone_in_the_written_order_that_no_offer_has_by_that_name() -> None:
    order = ("aws/us-east-1/us-east-1a", "aws/us-east-1/use1-az1", "aws/us-west-2/us-west-2a", "aws")
    notices = told(offer(zone="use1-az1"), environment={"failover": order})
    assert notices["failover_zone_name"].startswith("`failover` names aws/us-east-1/us-east-1a, a name that differs")
    assert told(offer(zone="us-east-1a"), environment={"failover": order}) == {}


def test_keys_that_are_read_and_not_acted_on_are_said() -> None:
    served = option(ports=("6006", "8000-8010"), disk_tier="best")

    notices = told(options=(served, option(disk_tier="medium")))

    assert notices["ports_not_opened"].startswith("ports 6006, 8000-8010 are not opened to the internet")
    assert "--forward 6006 brings" in notices["ports_not_opened"]
    assert "disk_tier best" in notices["disk_tier_not_met"]


def test_doubtful_prices_are_counted() -> None:
    zones = [offer("2", zone="a"), offer("8", zone="b"), offer("8.1", zone="c"), offer("30", zone="d")]

    notices = told(*zones)

    assert notices["far_below_siblings"].endswith(": 1 offer")
    assert notices["far_above_siblings"].endswith(": 1 of 3 candidates")


@pytest.mark.parametrize(("mbit", "hours"), [("50", "4.4"), ("1000", "0.2")])
def test_the_golden_rule(mbit: str, hours: str) -> None:
    assert f"{upload.hours(Decimal(100), Decimal(mbit)):.1f}" == hours


def test_a_slow_upload_is_told_with_its_hours() -> None:
    mounts = (Mount(target="/data", source="/home/me/data", size_gb=Decimal(100)),)

    assert "takes 4.4 hours at 50 Mbit/s" in told(mounts=mounts)["slow_upload"]
    assert "to 2 nodes takes 8.9 hours" in told(mounts=mounts, nodes=2)["slow_upload"]
    assert "slow_upload" not in told(mounts=mounts, more={"uplink_mbit": Decimal(1000)})
    bucket = (Mount(target="/data", source="s3://bucket/data", size_gb=Decimal(100), region="us-east-1"),)
    assert told(mounts=bucket) == {}


def test_a_bucket_that_is_not_made_is_told() -> None:
    made = Mount(target="/persistent", source="~/here", name="ckpt", store="s3", mode=MountMode.MOUNT)
    real = Mount(target="/data", source="s3://bucket", mode=MountMode.MOUNT)

    assert "the bucket ckpt is not made" in told(mounts=(made,))["bucket_not_made"]
    assert "bucket_not_made" not in told(mounts=(real, Mount(target="/d", source="~/d")))
