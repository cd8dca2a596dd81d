from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.offers import COSTS, codes, environment, job, offer, option, placed
from trainrig.model.environment import CloudPolicy
from trainrig.model.job import Amount, GpuRequest, Pins, PlacementWishes
from trainrig.model.offer import Market


def code(an_offer: Any, **job_changes: Any) -> str | None:
    """The code with which an offer is rejected, None when it is chosen."""
    placement = placed([an_offer], job(**job_changes))
    return None if placement.chosen else next(iter(codes(placement).values()))


def wants(**changes: Any) -> dict[str, Any]:
    return {"options": (option(**changes),)}


def gpus(*requests: GpuRequest) -> dict[str, Any]:
    return wants(gpus=requests)


A100_PARTS = ("A100", "A100-PCIe", "A100-80GB", "A100-80GB-PCIe")
H100_PARTS = ("H100", "H100-PCIe", "H100-NVL", "H100-MEGA", "H200")


@pytest.mark.parametrize("parts", [A100_PARTS, H100_PARTS])
def test_a_part_never_stands_for_another(parts: tuple[str, ...]) -> None:
    for wanted in parts:
        for there in parts:
            found = code(offer(gpu=there), **gpus(GpuRequest(name=wanted, count=8)))
            assert found == (None if there == wanted else "gpu_mismatch"), (wanted, there)


def test_the_count_is_exact() -> None:
    for count in (1, 4, 16):
        assert code(offer(gpu_count=count)) == "gpu_count"


@pytest.mark.parametrize(
    ("memory", "gpu", "fits"),
    [
        (Amount(value=80, at_least=True), "A100-80GB", True),
        (Amount(value=80, at_least=True), "H200", True),
        (Amount(value=80, at_least=True), "A100", False),
        (Amount(value=80), "H200", False),
        (Amount(value=24), "A10G", True),  # 22.4 GiB of its 24 are reported
    ],
)
def test_a_request_by_memory_goes_by_what_the_maker_says(memory: Amount, gpu: str, fits: bool) -> None:
    found = code(offer(gpu=gpu, gpu_memory_gib=22.35), **gpus(GpuRequest(memory_gib=memory, count=8)))

    assert found == (None if fits else "gpu_mismatch")


def test_a_vendor_narrows_a_request_by_memory() -> None:
    wanted = GpuRequest(memory_gib=Amount(value=80, at_least=True), vendor="NVIDIA", count=8)

    assert code(offer(gpu="MI300X"), **gpus(wanted)) == "gpu_mismatch"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"vcpus": Amount(value=96)}, None),
        ({"vcpus": Amount(value=64)}, "cpus"),
        ({"vcpus": Amount(value=64, at_least=True)}, None),
        ({"memory_gib": Amount(value=1024, at_least=True)}, None),
        ({"memory_gib": Amount(value=1024)}, "memory"),
        ({"memory_gib": Amount(value=12), "memory_per_vcpu": True}, None),
        ({"memory_gib": Amount(value=13, at_least=True), "memory_per_vcpu": True}, "memory"),
        ({"local_disk": "nvme"}, "disk"),
        ({"instance_type": "p4d.24xlarge"}, None),
        ({"instance_type": "p4de.24xlarge"}, "instance_type"),
        ({"cloud": "gcp"}, "cloud_not_allowed"),
        ({"region": "us-west-2"}, "region_not_allowed"),
        ({"zone": "use1-az9"}, "zone_not_allowed"),
        ({"market": Market.SPOT}, "market_not_allowed"),
        ({"market": Market.RESERVED}, "market_not_allowed"),
    ],
)
def test_what_a_job_asks_for(wanted: dict[str, Any], found: str | None) -> None:
    assert code(offer(zone="use1-az1"), **wants(**wanted)) == found


def test_a_zone_name_that_differs_from_account_to_account_is_explained() -> None:
    by_name = job(options=(option(zone="us-east-1a"),))

    [rejection] = placed([offer(zone="use1-az1")], by_name).rejections
    assert rejection.detail.endswith("offers go by zone id, such as use1-az1")
    team = environment(clouds=(CloudPolicy(cloud="aws", zones=("us-west-2b", "us-east-1a")),))
    [rejection] = placed([offer(zone="use1-az1")], an_environment=team).rejections
    assert "use1-az1; it has us-east-1a, a name that differs" in rejection.detail
    [rejection] = placed([offer(zone="us-east-1b")], by_name).rejections
    assert rejection.detail == "the job asks for us-east-1a"


def test_local_disk_by_size() -> None:
    assert code(offer(local_disk_gb=900), **wants(local_disk="nvme:1000+")) == "disk"
    assert code(offer(local_disk_gb=1000), **wants(local_disk="nvme:1000+")) is None


def test_a_reservation_is_drawn_on_by_those_who_have_one() -> None:
    reserved = offer(market=Market.RESERVED)
    mine = wants(reservation="cr-123")

    assert code(reserved) == "market_not_allowed"
    assert code(reserved, **mine) is None
    assert code(offer(market=Market.SPOT), **mine) == "market_not_allowed"
    # nobody lists reserved machines: one that is sold on demand is drawn from the reservation at its price
    [drawn] = placed([offer("10")], job(**mine)).candidates
    assert drawn.offer.market is Market.RESERVED
    assert drawn.parts.compute_usd == 100


def test_a_market_on_which_the_cloud_cannot_be_used() -> None:
    costs = {**COSTS, "aws": replace(COSTS["aws"], markets=frozenset({Market.ON_DEMAND}))}

    assert codes(placed([offer(market=Market.SPOT)], costs=costs)) == {"p4d.24xlarge@us-east-1": "feature_unsupported"}


@pytest.mark.parametrize(
    ("gpu", "pins", "fits"),
    [
        ("A100", Pins(cuda="11.0"), True),
        ("A100", Pins(cuda="10.2"), False),
        ("H100", Pins(cuda="11.7"), False),
        ("B200", Pins(driver="560.35.03"), False),
        ("B200", Pins(driver="570.172.08", cuda="12.8"), True),
        ("V100", Pins(cuda="13.0"), False),
        ("V100", Pins(cuda="12.8"), True),
        ("MI300X", Pins(cuda="12.8"), False),
    ],
)
def test_pins_that_do_not_know_the_gpu(gpu: str, pins: Pins, fits: bool) -> None:
    found = code(offer(gpu=gpu), **gpus(GpuRequest(name=gpu, count=8)), pins=pins)

    assert found == (None if fits else "driver_cuda_mismatch")


def test_an_environment_narrows_regions_and_zones() -> None:
    team = environment(clouds=(CloudPolicy(cloud="aws", regions=("us-east-1",), zones=("use1-az1",)),))
    offers = [offer(zone="use1-az1"), offer(zone="use1-az2"), offer(region="us-west-2", zone="usw2-az1")]

    placement = placed(offers, None, team)

    assert [c.offer.zone for c in placement.candidates] == ["use1-az1"]
    assert set(codes(placement).values()) == {"zone_not_allowed", "region_not_allowed"}


def test_nodes_that_must_lie_in_one_zone_are_not_bought_where_the_cloud_picks_one_for_each() -> None:
    scattering = {**COSTS, "azure": replace(COSTS["azure"], tariff=replace(COSTS["azure"].tariff, scatters_nodes=True))}
    regional, zonal = offer(cloud="azure"), offer("11", cloud="azure", zone="1")

    def chosen(**changes: Any) -> list[str | None]:
        return [c.offer.zone for c in placed([regional, zonal], job(**changes), costs=scattering).candidates]

    assert chosen(nodes=1) == [None, "1"]
    assert chosen(nodes=2) == ["1"]
    assert chosen(nodes=2, placement=PlacementWishes(same="region")) == [None, "1"]
