from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainrig.catalog.imported import by_reason
from trainrig.catalog.importers import Imported, read
from trainrig.errors import UsageError
from trainrig.model.offer import Market

NOW = datetime(2026, 11, 1, tzinfo=UTC)
HEADER = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone\n"
)
A100_INFO = "\"{'Gpus': [{'Name': 'A100', 'Count': 8, 'MemoryInfo': {'SizeInMiB': 40960}}]}\""
GPUHUNT = "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor,flags\n"


def skypilot(*lines: str, cloud: str = "aws") -> Imported:
    return read(HEADER + "".join(f"{line}\n" for line in lines), cloud=cloud, captured_at=NOW)


def gpuhunt(*lines: str, cloud: str = "aws") -> Imported:
    return read(GPUHUNT + "".join(f"{line}\n" for line in lines), cloud=cloud, captured_at=NOW)


def reasons(imported: Imported) -> list[str]:
    return [r.reason for r in imported.refused]


def test_skypilot_row_is_an_offer_on_each_market_with_a_price() -> None:
    found = skypilot(f"p4d.24xlarge,A100,8,96,1152,{A100_INFO},21.9576,7.88,us-east-1,use1-az1")
    assert [(o.market, o.price_hour_usd) for o in found.offers] == [
        (Market.ON_DEMAND, Decimal("21.9576")),
        (Market.SPOT, Decimal("7.88")),
    ]
    offer = found.offers[0]
    assert (offer.gpu, offer.gpu_count, offer.gpu_memory_gib, offer.zone) == ("A100", 8, 40, "use1-az1")
    assert (offer.source, offer.captured_at) == ("skypilot:import", NOW)


def test_market_without_a_price_has_no_offer() -> None:
    assert [o.market for o in skypilot("p5.4xlarge,H100,1,16,256,,4.33,,us-east-1,use1-az1").offers] == [
        Market.ON_DEMAND
    ]


def test_machine_without_a_gpu_is_an_offer_too() -> None:
    assert [(o.gpu, o.gpu_count) for o in skypilot("m5.large,,0,2,8,,0.096,,us-east-1,use1-az1").offers] == [(None, 0)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("g6f.large,L4,0.125,2,8,,0.2,,us-east-1,use1-az1", "a share of a GPU"),
        ("Standard_NV6ads_A10_v5,A10,1,6,55,,0.45,,eastus,", "a share of a GPU"),
        (",tpu-v6e-8,1,,,,700.0,,us-central2,us-central2-b", "a TPU"),
        ("p4d.24xlarge,A100,8,96,1152,,abc,,us-east-1,use1-az1", "Price is not a number"),
        ("p4d.24xlarge,A100,8,96,1152,,-1,,us-east-1,use1-az1", "Price is not a price"),
        ("p4d.24xlarge,A100,8,96,1152,,NaN,,us-east-1,use1-az1", "Price is not a price"),
        ("p4d.24xlarge,A100,8,many,1152,,1,,us-east-1,use1-az1", "vCPUs is not a number"),
        ("p4d.24xlarge,A100,8,96,1152,,1,,,use1-az1", "no Region"),
        ("p4d.24xlarge,A100,inf,96,1152,,1,,us-east-1,use1-az1", "AcceleratorCount is not a number"),
        ("p4d.24xlarge,A100,,96,1152,,1,,us-east-1,use1-az1", "a GPU without a count, or a count without a GPU"),
        ("p4d.24xlarge", ""),
    ],
)
def test_garbage_is_refused_by_name(line: str, reason: str) -> None:
    found = skypilot(line)
    assert found.offers == ()
    assert reasons(found) == ([reason] if reason else [])


def test_wrong_count_of_azure_is_corrected() -> None:
    line = "Standard_ND96isr_H100_v5,H100,12,96,1900,H100,98.32,98.32,eastus,"
    assert {o.gpu_count for o in skypilot(line, cloud="azure").offers} == {8}


def test_parts_that_azure_blurs_have_their_names() -> None:
    found = skypilot("Standard_NC40ads_H100_v5,H100,1,40,320,H100,6.98,,eastus,", cloud="azure")
    assert [(o.gpu, o.gpu_memory_gib) for o in found.offers] == [("H100-NVL", 94)]


def test_gigabytes_in_the_place_of_mib_are_not_believed() -> None:
    info = "\"{'Gpus': [{'MemoryInfo': {'SizeInMiB': 80}}]}\""
    assert skypilot(f"1x_A100,A100-80GB,1,8,80,{info},1.64,,US,", cloud="runpod").offers[0].gpu_memory_gib == 80


def test_gcp_machine_is_host_plus_accelerator_of_its_zone() -> None:
    found = skypilot(
        "a2-highgpu-1g,,,12.0,85.0,,0.73948,0.36975,us-central1,us-central1-a",
        "a2-highgpu-1g,,,12.0,85.0,,0.73948,0.36975,us-central1,us-central1-z",
        ",A100,1.0,,,\"{'Gpus': [{'MemoryInfo': {'SizeInMiB': 40960}}]}\",2.93391,,us-central1,us-central1-a",
        ",A100,8.0,,,,23.47,,us-central1,us-central1-a",
        "n1-highmem-4,,,4,26,,0.236606,0.05,us-central1,us-central1-a",
        ",T4,1,,,,0.35,0.1,us-central1,us-central1-a",
        cloud="gcp",
    )
    assert [(o.instance_type, o.gpu, o.market, o.price_hour_usd) for o in found.offers] == [
        ("a2-highgpu-1g", "A100", Market.ON_DEMAND, Decimal("3.67339")),
        ("n1-highmem-4", None, Market.ON_DEMAND, Decimal("0.236606")),
        ("n1-highmem-4", None, Market.SPOT, Decimal("0.05")),
        ("n1-highmem-4", "T4", Market.ON_DEMAND, Decimal("0.586606")),
        ("n1-highmem-4", "T4", Market.SPOT, Decimal("0.15")),
    ]
    assert found.offers[0].gpu_memory_gib == 40


def test_gcp_on_demand_price_of_another_product_is_flagged_by_its_part() -> None:
    hosts = [f"a2-ultragpu-1g,,,12,170,,1.09962,0.54978,{r},{r}-a" for r in ("us-central1", "us-east4", "us-east5")]
    found = skypilot(
        *hosts,
        ",A100-80GB,1,,,,1.8462,1.964,us-central1,us-central1-a",  # below spot, which the sum hides
        ",A100-80GB,1,,,,2.07937,1.77,us-east4,us-east4-a",  # above spot, and half of the third
        ",A100-80GB,1,,,,4.424,1.336,us-east5,us-east5-a",
        cloud="gcp",
    )
    flagged = {(o.region, o.market.value): o.flags for o in found.offers}
    assert flagged == {
        ("us-central1", "on_demand"): ("other_sku",),
        ("us-central1", "spot"): (),
        ("us-east4", "on_demand"): ("other_sku",),
        ("us-east4", "spot"): (),
        ("us-east5", "on_demand"): (),
        ("us-east5", "spot"): (),
    }


def test_gcp_price_that_is_no_number_is_refused() -> None:
    found = skypilot(
        "g2-standard-4,,,4,16,,0.1,,us-central1,us-central1-a",
        ",L4,1,,,,free,,us-central1,us-central1-a",
        cloud="gcp",
    )
    assert (found.offers, reasons(found)) == ((), ["Price is not a number"])


def test_row_listed_twice_counts_once() -> None:
    line = "2x_B200,B200,2,56,360,,11.98,,US,"
    found = skypilot(line, line, cloud="runpod")
    assert (len(found.offers), reasons(found)) == (1, ["listed before"])


def test_gpuhunt_row() -> None:
    found = gpuhunt(
        "p4de.24xlarge,us-east-1,40.96,96,1152,8,A100,80.0,False,8000,nvidia,",
        "p4de.24xlarge,us-east-1,20.1,96,1152,8,A100,80.0,True,8000,nvidia,",
        "m5.large,us-east-1,0.096,2,8,0,,,False,,,",
    )
    assert [(o.gpu, o.market, o.price_hour_usd) for o in found.offers] == [
        ("A100-80GB", Market.ON_DEMAND, Decimal("40.96")),
        ("A100-80GB", Market.SPOT, Decimal("20.1")),
        (None, Market.ON_DEMAND, Decimal("0.096")),
    ]
    assert found.format == "gpuhunt"
    assert found.offers[0].zone is None
    assert found.offers[0].local_disk_gb == 8000


def test_gpuhunt_names_zones_on_gcp() -> None:
    offer = gpuhunt("g2-standard-4,us-central1-a,0.7,4,16,1,L4,24,False,,nvidia,", cloud="gcp").offers[0]
    assert (offer.region, offer.zone) == ("us-central1", "us-central1-a")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("i1,us,0.5,30,240,1,A10,24.0,maybe,,nvidia,", "spot is neither True nor False"),
        ("i1,us,,30,240,1,A10,24.0,False,,nvidia,", "no price"),
        ("v5e,us,1,24,48,8,tpu-v5e,0,False,,google,", "a TPU"),
        ("i1,us,0.5,30,240,0.5,A10,24.0,False,,nvidia,", "a share of a GPU"),
    ],
)
def test_gpuhunt_garbage_is_refused_by_name(line: str, reason: str) -> None:
    assert reasons(gpuhunt(line)) == [reason]


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", "\0\0", '"open', "<html></html>"])
def test_other_files_are_refused_with_a_hint(content: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(content, cloud="aws", captured_at=NOW, name="x.csv")
    assert "vms.csv" in caught.value.hint


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\0\r\n", exclude_categories=["Cs"])), max_size=12))
def test_no_row_gives_a_traceback(cells: list[str]) -> None:
    line = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
    for cloud in ("aws", "gcp"):
        assert skypilot(line, cloud=cloud).offers == ()
        assert gpuhunt(line, cloud=cloud).offers == ()


def test_refusals_are_summed_up_by_reason() -> None:
    found = skypilot(
        "g6f.large,L4,0.125,2,8,,0.2,,us-east-1,use1-az1",
        ",tpu-v6e-8,1,,,,700.0,,us-central2,us-central2-b",
        "g6f.xlarge,L4,0.25,2,8,,0.2,,us-east-1,use1-az1",
    )
    assert by_reason(found.refused) == [
        "2 rows: a share of a GPU (first in line 2)",
        "1 row: a TPU (first in line 3)",
    ]
