"""The long-lived buckets with real Terraform and stand-ins for the clouds; what is in a bucket is said by the test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from support import schemas
from support.standin.cloud import FakeCloud
from support.standin.serve import serve
from trainrig import app
from trainrig.clouds import registry
from trainrig.errors import RigUnknown, StoppedByPolicy
from trainrig.lifecycle import store
from trainrig.model.environment import CloudPolicy, Environment, StateBackend
from trainrig.model.events import silent

pytestmark = pytest.mark.terraform

ENVIRONMENTS = {
    "aws": Environment(
        name="team",
        clouds=(CloudPolicy(cloud="aws", regions=("us-west-2",)),),
        checkpoint_store="s3://team-ckpt/runs",
        state=StateBackend(kind="s3", settings={"bucket": "team-state", "region": "us-east-1"}),
    ),
    "gcp": Environment(
        name="team",
        clouds=(CloudPolicy(cloud="gcp", regions=("us-central1",), account={"project": "team-1"}),),
        checkpoint_store="gs://team-ckpt/runs",
        state=StateBackend(kind="gcs", settings={"bucket": "team-ckpt"}),
    ),
    "azure": Environment(
        name="team",
        clouds=(CloudPolicy(cloud="azure", regions=("westeurope",)),),
        checkpoint_store="az://teamckpt/runs",
    ),
}
BUCKETS = {
    "aws": ("aws_s3_bucket", {"team-ckpt", "team-state"}),
    "gcp": ("google_storage_bucket", {"team-ckpt"}),
    "azure": ("azurerm_storage_container", {"runs"}),
}


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCloud]:
    with serve(tmp_path / "cloud") as env:
        monkeypatch.setenv("TF_REATTACH_PROVIDERS", env["TF_REATTACH_PROVIDERS"])
        yield FakeCloud(tmp_path / "cloud")


def fill(monkeypatch: pytest.MonkeyPatch, *, full: bool) -> None:
    contents = SimpleNamespace(holds_data=lambda _account, _holder, _name: full)
    monkeypatch.setattr(registry, "store", lambda _cloud: contents)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_stores_come_and_go(name: str, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(monkeypatch, full=False)
    environment = ENVIRONMENTS[name]
    made = store.apply(environment, region=None, observe=silent)
    type_, names = BUCKETS[name]
    assert {o["state"].get("bucket") or o["state"]["name"] for o in cloud.objects(type_)} == names
    assert made[0].url.endswith("/trainrig")
    assert made[0].backend

    before = len(cloud.calls("create"))
    store.apply(environment, region=None, observe=silent)
    assert len(cloud.calls("create")) == before

    store.destroy(environment, region=None, delete_data=False, observe=silent)
    assert cloud.objects() == []


def test_data_is_not_deleted_unless_told(cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(monkeypatch, full=True)
    store.apply(ENVIRONMENTS["aws"], region=None, observe=silent)
    before = cloud.objects()
    with pytest.raises(StoppedByPolicy, match="s3://team-ckpt holds data"):
        store.destroy(ENVIRONMENTS["aws"], region=None, delete_data=False, observe=silent)
    assert cloud.objects() == before
    store.destroy(ENVIRONMENTS["aws"], region=None, delete_data=True, observe=silent)
    assert cloud.objects() == []
    assert [c["name"] for c in cloud.calls("update", "aws_s3_bucket")] == ["team-ckpt", "team-state"]


TEAM = """
clouds: {gcp: {account: {project: team-1}, regions: [us-central1]}}
checkpoint_store: gs://team-ckpt/runs
"""


def test_the_verb_makes_and_ends_them(
    cloud: FakeCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(monkeypatch, full=False)
    team = tmp_path / "team.yaml"
    team.write_text(TEAM)
    assert app.run(["store", "apply", "--env", str(team), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    schemas.check(document)
    assert document["stores"][0]["url"] == "gs://team-ckpt/trainrig"
    assert document["stores"][0]["backend"] == {"bucket": "team-ckpt"}
    assert app.run(["store", "destroy", "--env", str(team)]) == 64  # nobody there to say yes
    assert len(cloud.objects()) == 1
    assert app.run(["store", "destroy", "--env", str(team), "--yes"]) == 0
    assert cloud.objects() == []


def test_a_store_of_another_machine_is_not_guessed_at() -> None:
    with pytest.raises(RigUnknown, match="there is no state"):
        store.destroy(ENVIRONMENTS["gcp"], region=None, delete_data=True, observe=silent)
