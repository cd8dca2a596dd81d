"""`sweep` and `destroy --run-id` over AWS (moto), Google Cloud and Azure (in memory), through the real SDKs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from azure.core.credentials import AccessToken
from moto import mock_aws

from support import gcp_rig, moto_placement_groups, moto_rig
from support.fake_arm import FakeArm
from support.fake_gcp import PROJECT, FakeGcp, private_key, write_key_file
from support.loopback import forbid_network, self_signed, serve
from support.rigs import identity
from trainrig import app
from trainrig.clouds.aws import session as aws_session
from trainrig.clouds.azure import session as azure_session
from trainrig.clouds.gcp import session as gcp_session
from trainrig.model.rig import RigIdentity

EXPIRED = identity(run_id="abcd2345", expires_at=datetime.now(UTC) - timedelta(hours=1))
ALIVE = identity(run_id="zzzz2222", expires_at=datetime.now(UTC) + timedelta(days=1))

ENVIRONMENT = """
clouds:
  aws: {{regions: [us-east-1]}}
  gcp: {{account: {{project: {project}, endpoint: "{gcp}"}}, regions: [us-central1]}}
  azure: {{account: {{subscription: 00000000-0000-0000-0000-000000000001, endpoint: "{azure}"}}, regions: [eastus]}}
"""


class Credential:
    def __init__(self, client_id: str | None = None) -> None:
        pass

    def get_token(self, *_scopes: str, **_: object) -> AccessToken:
        return AccessToken("token", int(time.time()) + 3600)


class Clouds:
    """A rig that is past its lease and one that is not, in each of three clouds."""

    def __init__(self, gcp: FakeGcp, arm: FakeArm) -> None:
        self.gcp, self.arm = gcp, arm
        self.ec2: Any = boto3.client("ec2", region_name="us-east-1")
        iam = boto3.client("iam", region_name="us-east-1")
        for rig in (EXPIRED, ALIVE):
            moto_rig.build(self.ec2, iam, rig)
            gcp_rig.build(gcp, rig)
            arm.add_rig(rig)
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket=f"{EXPIRED.resource_prefix}-data")

    def has(self, rig: RigIdentity) -> list[bool]:
        """Whether AWS, Google Cloud and Azure still have anything of a rig."""
        vpcs = self.ec2.describe_vpcs(Filters=[{"Name": "tag:trainrig-run-id", "Values": [rig.run_id]}])["Vpcs"]
        left = [name for name in self.gcp.names() if rig.run_id in name]
        return [bool(vpcs), bool(left), rig.resource_prefix in self.arm.groups]


@pytest.fixture
def clouds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clouds]:
    forbid_network(monkeypatch)
    moto_placement_groups.install(monkeypatch)
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    certificate = self_signed(tmp_path / "server.pem")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    monkeypatch.setattr(azure_session, "credential", Credential)
    for cache in (aws_session._session, aws_session._client, gcp_session._default):
        cache.cache_clear()
    with ExitStack() as stack:
        stack.enter_context(mock_aws())
        google, azure = stack.enter_context(serve()), stack.enter_context(serve(certificate))
        write_key_file(tmp_path / "key.json", key=private_key(), token_uri=f"{google.url}/token")
        environment = tmp_path / "team.yaml"
        environment.write_text(ENVIRONMENT.format(project=PROJECT, gcp=google.url, azure=azure.url), encoding="utf-8")
        monkeypatch.setenv("TRAINRIG_ENV", str(environment))
        yield Clouds(FakeGcp(google), FakeArm(azure))
    gcp_session._default.cache_clear()


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = app.run([*words, "--format", "json", "--quiet"])
    return code, json.loads(capsys.readouterr().out)


def test_sweep_reaps_what_is_past_its_lease_and_nothing_else(
    clouds: Clouds, capsys: pytest.CaptureFixture[str]
) -> None:
    code, dry = run(capsys, "sweep")
    assert code == 0
    assert {f["run_id"] for f in dry["resources"]} == {EXPIRED.run_id, ALIVE.run_id}
    assert clouds.has(EXPIRED) == clouds.has(ALIVE) == [True, True, True]
    machines = [f for f in dry["resources"] if f["type"] in {"instance", "virtual_machine"}]
    assert len(machines) == 6
    # what a machine costs stands in the catalogue
    assert all(float(f["price_hour_usd"]) > 0.1 for f in machines)

    code, _ = run(capsys, "sweep", "--yes")
    assert code == 0
    assert clouds.has(EXPIRED) == [False, False, False]
    assert clouds.has(ALIVE) == [True, True, True]
    assert boto3.client("s3", region_name="us-east-1").list_buckets()["Buckets"]


def test_destroy_by_bare_run_id(clouds: Clouds, capsys: pytest.CaptureFixture[str]) -> None:
    code, proof = run(capsys, "destroy", "--run-id", ALIVE.run_id)
    assert (code, proof["clean"]) == (0, True)
    assert clouds.has(ALIVE) == [False, False, False]
    assert clouds.has(EXPIRED) == [True, True, True]
    assert {r["type"] for r in proof["resources"]} >= {
        "instance",
        "vpc",
        "network",
        "service_account",
        "resource_group",
    }

    code, proof = run(capsys, "destroy", "--run-id", ALIVE.run_id)  # absent is done
    assert (code, proof["clean"]) == (0, True)
