from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from trainrig.model.codec import build
from trainrig.model.job import (
    Amount,
    Checkpoints,
    GpuRequest,
    Job,
    Mount,
    MountMode,
    PlacementWishes,
    Recovery,
    ResourceOption,
)
from trainrig.model.offer import Market

DOCUMENT = {
    "schema": "trainrig.job/1",
    "name": "j",
    "options": [
        {
            "cloud": "aws",
            "gpus": [{"count": 8, "memory_gib": {"value": 80.0, "at_least": True}}],
            "market": "spot",
            "max_hourly_usd": "2.50",
            "labels": {"a": "b"},
        }
    ],
    "mounts": [{"target": "/data", "source": "s3://b", "mode": "MOUNT", "size_gb": "1.5"}],
    "checkpoints": {"path": "/ckpt"},
    "deadline": "2026-01-01T00:00:00Z",
    "placement": {"profile": "cost"},
    "recovery": {"on_exit_codes": [1, 2]},
    "a_key_of_a_newer_version": 1,
}


def test_a_job_comes_back_with_its_types() -> None:
    assert build(Job, DOCUMENT) == Job(
        name="j",
        options=(
            ResourceOption(
                cloud="aws",
                gpus=(GpuRequest(count=8, memory_gib=Amount(value=80, at_least=True)),),
                market=Market.SPOT,
                max_hourly_usd=Decimal("2.50"),
                labels={"a": "b"},
            ),
        ),
        mounts=(Mount(target="/data", source="s3://b", mode=MountMode.MOUNT, size_gb=Decimal("1.5")),),
        checkpoints=Checkpoints(path="/ckpt"),
        deadline=datetime(2026, 1, 1, tzinfo=UTC),
        placement=PlacementWishes(profile="cost"),
        recovery=Recovery(on_exit_codes=(1, 2)),
    )


@pytest.mark.parametrize("change", [{"options": [{"market": "barter"}]}, {"name": ...}])
def test_another_document_is_refused(change: dict[str, object]) -> None:
    document = {k: v for k, v in {**DOCUMENT, **change}.items() if v is not ...}
    with pytest.raises((KeyError, TypeError, ValueError)):
        build(Job, document)
