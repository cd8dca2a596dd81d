"""The long-lived buckets with real Terraform and stand-ins for the clouds; what is in a bucket is said by the test."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support import schemas
from support.standin.cloud import FakeCloud
from support.standin.serve import serve
from trainrig import app, settings
from trainrig.clouds import registry
from trainrig.errors import RigUnknown, StoppedByPolicy
from trainrig.lifecycle import store
from trainrig.model.environment import CloudPolicy, Environment, StateBackend
from trainrig.model.events import silent
from trainrig.tools.terraform import Terraform

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


# type -> attributes, by path, that its plan must have
KEPT_PRIVATE: dict[str, dict[str, dict[str, Any]]] = {
    "aws": {
        "aws_s3_bucket": {"force_destroy": False},
        "aws_s3_bucket_public_access_block": {
            "block_public_acls": True,
            "block_public_policy": True,
            "ignore_public_acls": True,
            "restrict_public_buckets": True,
        },
        "aws_s3_bucket_ownership_controls": {"rule.0.object_ownership": "BucketOwnerEnforced"},
        "aws_s3_bucket_versioning": {"versioning_configuration.0.status": "Enabled"},
        "aws_s3_bucket_server_side_encryption_configuration": {
            "rule.0.apply_server_side_encryption_by_default.0.sse_algorithm": "AES256"
        },
        "aws_s3_bucket_lifecycle_configuration": {
            "rule.0.status": "Enabled",
            "rule.0.abort_incomplete_multipart_upload.0.days_after_initiation": 7,
            "rule.1.status": "Enabled",
            "rule.1.noncurrent_version_expiration.0.noncurrent_days": 30,
        },
    },
    "gcp": {
        "google_storage_bucket": {
            "force_destroy": False,
            "public_access_prevention": "enforced",
            "uniform_bucket_level_access": True,
            "versioning.0.enabled": True,
            "lifecycle_rule.0.action.0.type": "AbortIncompleteMultipartUpload",
            "lifecycle_rule.1.action.0.type": "Delete",
            "lifecycle_rule.1.condition.0.with_state": "ARCHIVED",
            "lifecycle_rule.1.condition.0.days_since_noncurrent_time": 365,
        },
    },
    "azure": {
        "azurerm_storage_account": {
            "allow_nested_items_to_be_public": False,
            "shared_access_key_enabled": False,
            "https_traffic_only_enabled": True,
            "min_tls_version": "TLS1_2",
            "infrastructure_encryption_enabled": True,
            "blob_properties.0.versioning_enabled": True,
            "blob_properties.0.delete_retention_policy.0.days": 30,
        },
        "azurerm_storage_container": {"container_access_type": "private"},
        "azurerm_storage_management_policy": {
            "rule.0.enabled": True,
            "rule.0.actions.0.version.0.delete_after_days_since_creation": 30,
        },
    },
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_what_is_planned_is_private_versioned_and_encrypted(name: str, cloud: FakeCloud) -> None:
    made = store.apply(ENVIRONMENTS[name], region=None, observe=silent)[0]
    plan = Terraform(settings.home() / "stores" / made.store.folder).show_plan()
    planned = {c.type: dict(_leaves(c.after)) for c in plan.changes}
    missing = {
        type_: {path: value for path, value in wanted.items() if planned[type_].get(path) != value}
        for type_, wanted in KEPT_PRIVATE[name].items()
    }
    assert {type_: paths for type_, paths in missing.items() if paths} == {}
    # nothing that grants, beside what keeps out
    assert not [type_ for type_ in planned if re.search(r"acl|iam|website|role_assignment|cors", type_)]
    assert not [path for leaves in planned.values() for path in leaves if "trainrig-run-id" in path]


def test_nobody_is_let_in_by_the_policy_of_a_bucket(cloud: FakeCloud) -> None:
    store.apply(ENVIRONMENTS["aws"], region=None, observe=silent)
    policies = [json.loads(o["state"]["policy"]) for o in cloud.objects("aws_s3_bucket_policy")]
    assert len(policies) == 2
    assert {s["Effect"] for policy in policies for s in policy["Statement"]} == {"Deny"}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """`rule.0.status` -> its value, for all that is in a planned resource."""
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        yield path.removeprefix("."), value
    else:
        for key, one in inner:
            yield from _leaves(one, f"{path}.{key}")


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
