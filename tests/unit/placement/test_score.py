"""Bills worked out by hand, to the cent."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from support.offers import COSTS, environment, job, offer, option, placed
from trainrig.model.job import Checkpoints, Job, Mount, PlacementWishes
from trainrig.model.offer import Market, Offer
from trainrig.model.placement import CostParts
from trainrig.model.tariff import CloudCosts, Hazard


def costs(*, per_hour: str = "0.1", **tariff: Any) -> dict[str, CloudCosts]:
    """A machine that takes 12 minutes to set up, a disk at 0.08 a GB-month, an address at 0.005 an hour."""
    hazards = (Hazard(per_hour=Decimal(per_hour), source="a test"),)
    aws = replace(COSTS["aws"].tariff, setup_minutes=Decimal(12), hazards=hazards, **tariff)
    return {
        **COSTS,
        "aws": CloudCosts(address_hour_usd=Decimal("0.005"), disk_gb_month_usd=Decimal("0.08"), tariff=aws),
    }


def bill(an_offer: Offer, a_job: Job, a_costs: dict[str, CloudCosts] | None = None) -> CostParts:
    placement = placed([an_offer], a_job, costs=a_costs or COSTS)
    assert placement.chosen is not None, placement.rejections
    return placement.chosen.parts


def parts(**usd: str) -> CostParts:
    zero = dict.fromkeys(
        ("compute_usd", "disk_usd", "network_usd", "egress_usd", "lost_work_usd", "setup_usd"), Decimal("0.00")
    )
    return CostParts(**{**zero, **{name: Decimal(value) for name, value in usd.items()}})


def data(size_gb: str, source: str = "s3://bucket/data", region: str | None = None) -> Mount:
    return Mount(target="/data", source=source, size_gb=Decimal(size_gb), region=region)


def test_two_nodes_on_demand() -> None:
    # 10 h x 10 x 2; 0.2 h x 10 x 2; 100 GB x 0.08 / 730 x 10.2 h x 2 = 0.2236; 0.005 x 10.2 h x 2 = 0.102
    found = bill(offer("10"), job(nodes=2, options=(option(disk_gb=100),)), costs())

    assert found == parts(compute_usd="200.00", setup_usd="4.00", disk_usd="0.22", network_usd="0.10")
    assert found.total_usd == Decimal("204.32")


def test_spot_with_checkpoints() -> None:
    # 40 h of work, a checkpoint every 15 min, 0.1 preemptions an hour: 41.5244 h in all, so 1.3244 h are lost
    spot = offer("20", market=Market.SPOT)

    found = bill(
        spot,
        job(expected_hours=Decimal(40), checkpoints=Checkpoints(path="/c", interval_minutes=Decimal(15))),
        costs(),
    )

    assert found == parts(compute_usd="800.00", setup_usd="4.00", lost_work_usd="26.49", network_usd="0.21")


def test_spot_without_checkpoints_is_priced_with_full_loss() -> None:
    # (e^(0.1 x 10.2) - 1) / 0.1 = 17.7319 h, of which 7.5319 h are lost
    found = bill(offer("20", market=Market.SPOT), job(), costs())

    assert found == parts(compute_usd="200.00", setup_usd="4.00", lost_work_usd="150.64", network_usd="0.09")


def test_a_contract_without_an_interval_is_taken_to_save_every_fifteen_minutes() -> None:
    spot, forty = offer("20", market=Market.SPOT), Decimal(40)
    silent, said = Checkpoints(path="/c"), Checkpoints(path="/c", interval_minutes=Decimal(15))

    assert bill(spot, job(expected_hours=forty, checkpoints=silent), costs()) == bill(
        spot, job(expected_hours=forty, checkpoints=said), costs()
    )


def test_hours_are_not_rounded_before_they_are_paid_for() -> None:
    # 98.32 an hour, three nodes, ten minutes of setup: 5.66666... hours and no lost work
    ten_minutes = costs()
    ten_minutes["aws"] = replace(
        ten_minutes["aws"], tariff=replace(ten_minutes["aws"].tariff, setup_minutes=Decimal(10))
    )
    found = bill(offer("98.32"), job(nodes=3, expected_hours=Decimal("5.5")), ten_minutes)
    assert found == parts(compute_usd="1622.28", setup_usd="49.16", network_usd="0.09")

    # 4 TB at 0.09 to three nodes, read once more for each of N = 0.58547 preemptions; apart from
    # the code, with 50 digits: 3 x 98.32 x (B - 5.5 - 1/6) = 55.47697, and 12,288 GB x (1 + N) x 0.09 = 1753.40848
    spot = job(
        nodes=3,
        expected_hours=Decimal("5.5"),
        checkpoints=Checkpoints(path="/c", interval_minutes=Decimal(20)),
        mounts=(data("4096"),),
        placement=PlacementWishes(egress_usd_per_gb=Decimal("0.09")),
    )
    gcp = offer("98.32", cloud="gcp", market=Market.SPOT, zone="us-central1-a")
    ten_minutes["gcp"] = replace(ten_minutes["gcp"], tariff=ten_minutes["aws"].tariff)
    found = bill(gcp, spot, ten_minutes)
    assert (found.lost_work_usd, found.egress_usd) == (Decimal("55.48"), Decimal("1753.41"))


def test_egress_climbs_the_staircase() -> None:
    gcp = offer("10", cloud="gcp")

    # 100 GB are free: 50 x 0.09
    assert bill(gcp, job(mounts=(data("150"),))).egress_usd == Decimal("4.50")
    # (10240 - 100) x 0.09 + (20000 - 10240) x 0.05
    assert bill(gcp, job(mounts=(data("20000"),))).egress_usd == Decimal("1400.60")
    # two buckets of one cloud share its free allowance: (150 + 50 - 100) x 0.09
    both = (data("150"), data("50", "s3://other"))
    assert bill(gcp, job(mounts=both)).egress_usd == Decimal("9.00")


def test_data_that_the_job_reads_without_a_mount_is_moved_too() -> None:
    # of inputs and mounts of one cloud together, 100 GB are free: (150 + 50 - 100) x 0.09
    read = job(mounts=(data("150"),), inputs={"s3://other": Decimal(50)})

    assert bill(offer("10", cloud="gcp"), read).egress_usd == Decimal("9.00")


def test_each_node_reads_the_data() -> None:
    # 2 x 150 - 100 free = 200 x 0.09
    gcp = offer("10", cloud="gcp", zone="us-central1-a")

    assert bill(gcp, job(nodes=2, mounts=(data("150"),))).egress_usd == Decimal("18.00")


def test_the_jobs_own_price_of_a_gigabyte_stands_instead_of_the_tariff() -> None:
    wishes = PlacementWishes(egress_usd_per_gb=Decimal("0.09"))

    assert bill(offer("10", cloud="gcp"), job(mounts=(data("150"),), placement=wishes)).egress_usd == Decimal("13.50")


def test_regions_of_one_cloud_are_apart_too() -> None:
    mounts = (data("500", region="us-east-1"),)

    def egress(region: str) -> Decimal:
        return bill(offer("10", region=region), job(mounts=mounts)).egress_usd

    assert egress("us-east-1") == Decimal("0.00")
    assert egress("us-east-2") == Decimal("5.00")  # 0.01, a pair of its own
    assert egress("us-west-2") == Decimal("10.00")  # 0.02 on one continent
    assert egress("eu-west-1") == Decimal("40.00")  # 0.08 to another


def test_data_is_read_again_after_every_preemption() -> None:
    # (e^(0.1 x 10) - 1) / 0.1 = 17.1828 h, 1.7183 preemptions: 100 GB x 2.7183 x 0.02
    again = bill(
        offer("10", market=Market.SPOT, region="us-west-2"),
        job(mounts=(data("100", region="us-east-1"),)),
        {**costs(), "aws": CloudCosts(tariff=replace(costs()["aws"].tariff, setup_minutes=Decimal(0)))},
    )

    assert again.egress_usd == Decimal("5.44")


def test_checkpoints_leave_the_cloud_of_the_machines_for_a_store_in_another() -> None:
    # 20 saves of 10 GB: 200 GB out of aws, of which 100 are free: 100 x 0.09
    google = {**COSTS, "gcp": replace(COSTS["gcp"], tariff=replace(COSTS["gcp"].tariff, schemes=("gs",)))}

    def egress(store: str | None, size_gb: str | None) -> Decimal:
        size = None if size_gb is None else Decimal(size_gb)
        contract = Checkpoints(path="/c", interval_minutes=Decimal(30), size_gb=size, store=store)
        return bill(offer("10"), job(checkpoints=contract), google).egress_usd

    assert egress("gs://bucket/ckpt", "10") == Decimal("9.00")
    assert egress("s3://bucket/ckpt", "10") == Decimal("0.00")
    assert egress("gs://bucket/ckpt", None) == Decimal("0.00")
    assert egress(None, "10") == Decimal("0.00")
    team = environment(checkpoint_store="gs://team/ckpt")
    contract = Checkpoints(path="/c", interval_minutes=Decimal(30), size_gb=Decimal(10))
    chosen = placed([offer("10")], job(checkpoints=contract), team, costs=google).chosen
    assert chosen is not None
    assert chosen.parts.egress_usd == Decimal("9.00")


def test_local_files_and_data_of_unknown_clouds_cost_no_egress() -> None:
    mounts = (data("500", "/home/me/data"), data("500", "https://example.org/data"), data("500", "file:///data"))

    assert bill(offer("10", cloud="gcp"), job(mounts=mounts)).egress_usd == Decimal("0.00")


def test_a_timeout_stands_for_the_hours_that_a_job_does_not_say_and_else_it_is_one_hour() -> None:
    ten_hours = job(expected_hours=None, timeout_seconds=36_000)

    assert bill(offer("20.80"), ten_hours).total_usd == Decimal("208.00")
    assert bill(offer("20.80"), job(expected_hours=None)).total_usd == Decimal("20.80")
