from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from trainrig.clouds.gcp import skus
from trainrig.clouds.gcp.skus import Part
from trainrig.model.offer import Market


def sku(description: str, usd: str, *, usage: str = "OnDemand", group: str = "GPU", unit: str = "h") -> dict[str, Any]:
    units, _, fraction = usd.partition(".")
    rate = {"unitPrice": {"currencyCode": "USD", "units": units, "nanos": int((fraction + "0" * 9)[:9])}}
    return {
        "description": description,
        "category": {"usageType": usage, "resourceGroup": group, "resourceFamily": "Compute"},
        "serviceRegions": ["us-central1"],
        "pricingInfo": [{"pricingExpression": {"usageUnit": unit, "tieredRates": [rate]}}],
    }


A2 = [
    sku("Nvidia Tesla A100 GPU running in Americas", "2.933908"),
    sku("Nvidia Tesla A100 GPU attached to Spot Preemptible VMs running in Americas", "1.2", usage="Preemptible"),
    sku("A2 Instance Core running in Americas", "0.031611", group="CPU"),
    sku("A2 Instance Ram running in Americas", "0.004237", group="RAM"),
]


@pytest.mark.parametrize(
    ("description", "usage", "group", "expected"),
    [
        ("Nvidia Tesla A100 80GB GPU running in Americas", "OnDemand", "GPU", ("gpu", "nvidia-a100-80gb", "on_demand")),
        ("Nvidia Tesla A100 GPU running in Iowa", "OnDemand", "GPU", ("gpu", "nvidia-tesla-a100", "on_demand")),
        ("Nvidia H100 80GB Plus GPU running in X", "OnDemand", "GPU", ("gpu", "nvidia-h100-mega-80gb", "on_demand")),
        ("Nvidia H100 80GB Mega GPU running in X", "OnDemand", "GPU", ("gpu", "nvidia-h100-mega-80gb", "on_demand")),
        ("Nvidia H100 80GB GPU running in X", "OnDemand", "GPU", ("gpu", "nvidia-h100-80gb", "on_demand")),
        ("Nvidia H200 141GB GPU running in X", "OnDemand", "GPU", ("gpu", "nvidia-h200-141gb", "on_demand")),
        # the usage type of this SKU is wrong in the catalogue
        (
            "Spot Preemptible A4 Nvidia B200 (1 gpu slice) running in X",
            "OnDemand",
            "GPU",
            ("gpu", "nvidia-b200", "spot"),
        ),
        ("N1 Predefined Instance Core running in Americas", "OnDemand", "N1Standard", ("core", "n1", "on_demand")),
        ("Spot Preemptible G2 Instance Ram running in X", "Preemptible", "RAM", ("ram", "g2", "spot")),
        ("A3Plus Instance Core running in X", "OnDemand", "CPU", ("core", "a3plus", "on_demand")),
        ("SSD backed Local Storage in Iowa", "OnDemand", "LocalSSD", ("disk", "", "on_demand")),
        ("DWS Defined Duration Nvidia H100 80GB GPU running in X", "OnDemand", "GPU", None),
        ("Commitment v1: Nvidia L4 GPU running in X for 1 Year", "Commit1Yr", "GPU", None),
        ("Reserved Nvidia H200 141GB GPU in Iowa in Calendar Mode", "OnDemand", "GPU", None),
        ("A2 Sole Tenancy Instance Core running in X", "OnDemand", "CPU", None),
        ("N1 Custom Instance Core running in X", "OnDemand", "CPU", None),
        ("Nvidia Tesla T4 Virtual Workstation running in X", "OnDemand", "GPU", None),
    ],
)
def test_description_says_what_a_sku_prices(
    description: str, usage: str, group: str, expected: tuple[str, str, str] | None
) -> None:
    part = skus.part_of(description, {"usageType": usage, "resourceGroup": group})
    assert part == (expected and Part(kind=expected[0], what=expected[1], market=Market(expected[2])))


def machine_price(table: skus.Prices, market: Market = Market.ON_DEMAND, disk_gb: int = 0) -> Decimal | None:
    return skus.machine_price(
        table,
        machine_type="a2-highgpu-1g",
        region="us-central1",
        market=market,
        vcpus=12,
        memory_gib=Decimal(85),
        gpu="nvidia-tesla-a100",
        gpu_count=1,
        local_disk_gb=disk_gb,
    )


def test_machine_is_the_sum_of_its_parts() -> None:
    assert machine_price(skus.prices(A2)) == Decimal("2.933908") + 12 * Decimal("0.031611") + 85 * Decimal("0.004237")


def test_reservation_price_never_replaces_the_list_price() -> None:
    dws = sku("DWS Defined Duration Nvidia Tesla A100 GPU running in Americas", "1.61")
    assert machine_price(skus.prices([*A2, dws])) == machine_price(skus.prices(A2))


def test_missing_part_means_no_price() -> None:
    assert machine_price(skus.prices(A2), Market.SPOT) is None
    assert machine_price(skus.prices(A2), disk_gb=375) is None
    assert machine_price(skus.prices(A2[1:])) is None


def test_local_disk_is_priced_by_the_month() -> None:
    disk = sku("SSD backed Local Storage", "0.08", group="LocalSSD", unit="GiBy.mo")
    with_disk, without = machine_price(skus.prices([*A2, disk]), disk_gb=730), machine_price(skus.prices(A2))
    assert with_disk is not None
    assert without is not None
    assert with_disk - without == Decimal("0.08")


def test_b200_slice_holds_the_whole_machine() -> None:
    table = skus.prices([sku("A4 Nvidia B200 (1 gpu slice) running in Americas", "11.2775")])
    price = skus.machine_price(
        table,
        machine_type="a4-highgpu-8g",
        region="us-central1",
        market=Market.ON_DEMAND,
        vcpus=224,
        memory_gib=Decimal(3968),
        gpu="nvidia-b200",
        gpu_count=8,
        local_disk_gb=12000,
    )
    assert price == Decimal("90.22")


def test_broken_sku_is_left_out() -> None:
    assert skus.prices([{"description": A2[0]["description"], "category": A2[0]["category"]}, {}]) == {}


@pytest.mark.parametrize(
    ("machine_type", "family"),
    [("a2-ultragpu-8g", "a2"), ("a3-megagpu-8g", "a3plus"), ("a3-highgpu-8g", "a3"), ("g2-standard-48", "g2")],
)
def test_family_in_the_words_of_the_bill(machine_type: str, family: str) -> None:
    assert skus.family_of(machine_type) == family
