from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support import rigs
from trainrig.clouds import registry
from trainrig.clouds.base import MachineImage
from trainrig.errors import CredentialsMissing, TerraformFailed
from trainrig.lifecycle import lock, pins, provider_hashes
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.events import silent
from trainrig.model.job import Job, ResourceOption
from trainrig.model.placement import CatalogStamp, Placement
from trainrig.render import lockfile
from trainrig.tools import oci

ENV = Environment(name="team", clouds=(CloudPolicy(cloud="aws"),))
NEWEST = MachineImage(name="Base 20261001", id="ami-0new", driver="580.200.01", cuda="12.9")


def no_registry(address: str, version: str) -> tuple[str, ...]:
    raise TerraformFailed("terraform providers lock failed\n  no network")


@pytest.fixture(autouse=True)
def two_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    def place(*_: object, **__: object) -> Placement:
        return Placement(
            job="a",
            catalog=CatalogStamp(digest="", captured_at=None, age_hours=None, offers=2),
            chosen=rigs.candidate(),
            fallbacks=(rigs.candidate(region="us-west-2", zone=None),),
            rejections=(),
        )

    monkeypatch.setattr(lock, "place", place)
    monkeypatch.setattr(provider_hashes, "of", no_registry)
    monkeypatch.setattr(oci, "digest", lambda name, tag: f"sha256:{'a' * 64}")


def cloud(monkeypatch: pytest.MonkeyPatch, newest: MachineImage | Exception | None) -> None:
    def ask(*_: Any) -> MachineImage | None:
        if isinstance(newest, Exception):
            raise newest
        return newest

    def find(_account: object, region: str, name: str) -> MachineImage:
        return MachineImage(name=name, id=f"ami-{region}-{name[-8:]}")

    module = SimpleNamespace(PER_REGION=True, newest=ask, find=find)
    monkeypatch.setattr(registry, "images", lambda _cloud: module)


def locked(tmp_path: Path, *, offline: bool = False) -> lock.Locked:
    job = Job(name="a", options=(ResourceOption(),), image="team/train:latest", source=str(tmp_path / "job.yaml"))
    return lock.lock((job,), ENV, silent, offline=offline)


def test_a_newer_image_with_a_known_driver_is_taken_in_every_region(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud(monkeypatch, NEWEST)
    result = locked(tmp_path)
    read = lockfile.parse(result.path.read_text(), "trainrig.lock")
    assert read.images[0].name == "Base 20261001"
    assert read.images[0].ids == {"us-east-1": "ami-us-east-1-20261001", "us-west-2": "ami-us-west-2-20261001"}
    assert read.containers == {"team/train:latest": f"sha256:{'a' * 64}"}
    assert any(line.startswith("~ image aws x86_64: Deep Learning") for line in result.changes)
    assert result.notes == ("no hashes of hashicorp/aws 6.69.1: no network",)


def test_a_second_lock_of_the_same_day_moves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud(monkeypatch, NEWEST)
    first = locked(tmp_path).path.read_text()
    again = locked(tmp_path)
    assert again.changes == ()
    assert again.path.read_text() == first


def test_an_image_whose_driver_nobody_states_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud(monkeypatch, MachineImage(name="Base 20261001", id="ami-0new"))
    result = locked(tmp_path)
    assert "does not say which driver" in result.notes[0]
    pinned = lockfile.parse(result.path.read_text(), "trainrig.lock").images[0]
    assert pinned.name == pins.shipped().images[0].name
    assert set(pinned.ids) == {"us-east-1", "us-east-2", "us-west-2"}


def test_a_cloud_that_cannot_be_asked_keeps_its_pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud(monkeypatch, CredentialsMissing("aws: no credentials"))
    result = locked(tmp_path)
    assert result.notes[0] == "aws was not asked, its pins stay: aws: no credentials"
    assert lockfile.parse(result.path.read_text(), "trainrig.lock").images == pins.shipped().images


def test_offline_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud(monkeypatch, AssertionError())
    result = locked(tmp_path, offline=True)
    assert result.notes == ()
    assert lockfile.parse(result.path.read_text(), "trainrig.lock").containers == {}
