from __future__ import annotations

from dataclasses import replace

import pytest

from trainrig.errors import SpecInvalid
from trainrig.lifecycle.pins import shipped
from trainrig.render import lockfile
from trainrig.render.lockfile import ImagePin, Lock, ProviderPin

LOCK = Lock(
    providers={"hashicorp/aws": ProviderPin(version="6.69.1", hashes=("zh:bb", "h1:aa"))},
    images=(ImagePin(cloud="aws", arch="x86_64", name="Base 1", driver="580.126.09", cuda=None, ids={"r1": "ami-1"}),),
    containers={"ubuntu:22.04": "sha256:" + "a" * 64},
)


def test_a_lock_file_reads_back_as_it_was_written() -> None:
    written = lockfile.text(LOCK)
    read = lockfile.parse(written, "trainrig.lock")
    assert lockfile.text(read) == written
    assert read.images == LOCK.images
    assert read.providers["hashicorp/aws"].hashes == ("h1:aa", "zh:bb")


def test_a_diff_names_what_moved_and_nothing_else() -> None:
    image = replace(LOCK.images[0], name="Base 2", driver="595.91.07", cuda="13.2", ids={"r1": "ami-2", "r2": "ami-3"})
    newer = Lock(
        providers={"hashicorp/aws": ProviderPin(version="6.70.0")},
        images=(image,),
        containers={"debian:12": "sha256:" + "b" * 64},
    )
    assert lockfile.changes(LOCK, newer) == [
        f"+ container debian:12: sha256:{'b' * 64}",
        f"- container ubuntu:22.04: sha256:{'a' * 64}",
        "~ image aws x86_64: Base 1 (driver 580.126.09, CUDA not stated) -> Base 2 (driver 595.91.07, CUDA 13.2)",
        "~ image aws x86_64 r1: ami-1 -> ami-2",
        "+ image aws x86_64 r2: ami-3",
        "~ provider hashicorp/aws: 6.69.1 -> 6.70.0",
    ]
    assert lockfile.changes(LOCK, LOCK) == []


@pytest.mark.parametrize(
    "text", ["schema: trainrig.lock/9\n", "[]\n", "a: [\n", "schema: trainrig.lock/1\nimages: [{}]\n"]
)
def test_what_is_no_lock_file_is_refused_with_the_way_out(text: str) -> None:
    with pytest.raises(SpecInvalid) as caught:
        lockfile.parse(text, "trainrig.lock")
    assert caught.value.hint


def test_a_lock_that_was_edited_to_move_is_refused() -> None:
    moving = replace(LOCK, images=(replace(LOCK.images[0], ids={"r1": "resolve:ssm:/aws/service/x"}),))
    with pytest.raises(SpecInvalid, match="an SSM parameter moves"):
        lockfile.parse(lockfile.text(moving), "trainrig.lock")


def test_the_shipped_pins_know_the_driver_of_each_image() -> None:
    pins = shipped()
    assert {i.cloud for i in pins.images} >= {"aws", "gcp", "azure"}
    assert all(image.driver for image in pins.images)
