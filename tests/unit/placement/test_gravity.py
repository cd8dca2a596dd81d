from __future__ import annotations

from decimal import Decimal

import pytest

from support.offers import job, offer, option, placed
from trainrig.model.job import GpuRequest, Job, Mount, PlacementWishes
from trainrig.model.placement import Candidate
from trainrig.placement.gravity import breakeven_hours

A10G = option(gpus=(GpuRequest(name="A10G", count=1),))


def a_job(hours: str, size_gb: str | None = "150") -> Job:
    """Fine-tuning on one A10G, with its data in S3 and 0.09 a GB to move it."""
    return job(
        options=(A10G,),
        expected_hours=Decimal(hours),
        mounts=(
            Mount(target="/data", source="s3://bucket/data", size_gb=None if size_gb is None else Decimal(size_gb)),
        ),
        placement=PlacementWishes(egress_usd_per_gb=Decimal("0.09"), profile="cost"),
    )


AWS = offer("1.10", instance_type="g5.xlarge", gpu="A10G", gpu_count=1)
ELSEWHERE = offer("0.40", cloud="gcp", instance_type="cheap", gpu="A10G", gpu_count=1)


def candidates(job_: Job) -> list[Candidate]:
    return list(placed([AWS, ELSEWHERE], job_).candidates)


@pytest.mark.parametrize(
    ("gb", "usd", "saved", "hours"),
    [("150", "0.09", "0.70", "19.3"), ("50", "0.09", "0.70", "6.4"), ("0", "0.09", "0.70", "0.0")],
)
def test_the_inflection_point(gb: str, usd: str, saved: str, hours: str) -> None:
    assert breakeven_hours(Decimal(gb) * Decimal(usd), Decimal(saved)) == Decimal(hours)


def test_a_machine_that_saves_nothing_never_pays() -> None:
    assert breakeven_hours(Decimal("13.50"), Decimal(0)) is None


def test_moving_wins_only_beyond_the_inflection_point() -> None:
    assert [c.offer for c in candidates(a_job("19.2"))] == [AWS, ELSEWHERE]
    assert [c.offer for c in candidates(a_job("19.4"))] == [ELSEWHERE, AWS]


def test_who_lies_apart_from_the_data_says_when_that_pays() -> None:
    moved, stayed = candidates(a_job("24"))

    assert moved.parts.egress_usd == Decimal("13.50")
    assert moved.breakeven_hours == Decimal("19.3")
    assert moved.reasons == (
        "moving s3://bucket/data there once costs $13.50 and saves $0.70 an hour: it pays after 19.3 hours",
    )
    assert stayed.breakeven_hours is None
    assert stayed.reasons == ()


def test_data_of_unknown_size_is_said_and_not_priced() -> None:
    placement = placed([AWS, ELSEWHERE], a_job("24", None))

    assert placement.chosen is not None
    assert placement.chosen.offer == ELSEWHERE
    assert placement.chosen.breakeven_hours is None
    assert "its size is not declared" in placement.chosen.reasons[0]
    assert "data_size_unknown" in {w.code for w in placement.warnings}


def test_where_nothing_lies_beside_the_data_there_is_nothing_to_compare_with() -> None:
    placement = placed([ELSEWHERE], a_job("24"))

    assert placement.chosen is not None
    assert placement.chosen.breakeven_hours is None
    assert placement.chosen.reasons[0].endswith("nothing that fits lies beside it")
