"""What is asked of a bucket that keeps checkpoints, and how one is refused that cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.buckets import BUCKETS, bucket
from support.checkpoint_places import RUN
from trainrig.errors import StoreFailed
from trainrig.recovery.stores import Objects
from trainrig.store.checkpoint_bucket import CheckpointBucket


@pytest.fixture(scope="module", params=BUCKETS)
def kept_in(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Objects]:
    with bucket(request.param, tmp_path_factory.mktemp(request.param)) as (objects, _):
        yield objects


def test_a_bucket_that_ignores_conditions_is_refused(kept_in: Objects, tmp_path: Path) -> None:
    """An older server may take `If-Match` and write all the same."""

    class Careless:
        def __init__(self, objects: Objects) -> None:
            self._objects = objects

        def write(self, key: str, content: bytes, *, expected: str | None) -> str:
            found = self._objects.read(key)
            return self._objects.write(key, content, expected=found[1] if found else None)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._objects, name)

    careless: Any = Careless(kept_in)
    store = CheckpointBucket(careless, "s3://old/server", "careless", RUN, tmp_path)
    with pytest.raises(StoreFailed, match="ignores conditional writes"):
        store.fence(1)
    with pytest.raises(StoreFailed, match="ignores conditional writes"):
        store.probe()
    assert list(kept_in.names("careless/probe")) == []


def test_a_bucket_that_keeps_what_is_deleted_is_told_of(kept_in: Objects, tmp_path: Path) -> None:

    class Keeping:
        def delete(self, keys: Any) -> None:
            """As S3 answers who may not delete: with a list of errors, and success."""

        def __getattr__(self, name: str) -> Any:
            return getattr(kept_in, name)

    keeping: Any = Keeping()
    with pytest.raises(StoreFailed, match="cannot be deleted"):
        CheckpointBucket(keeping, "s3://worm", "worm", RUN, tmp_path).probe()


def test_a_head_that_is_not_ours_is_not_overwritten(kept_in: Objects, tmp_path: Path) -> None:
    kept_in.write("foreign/head.json", json.dumps({"schema": "other/1"}).encode(), expected=None)
    store = CheckpointBucket(kept_in, "s3://b/foreign", "foreign", RUN, tmp_path)
    with pytest.raises(StoreFailed, match=r"head\.json is not ours"):
        store.fence(1)
