from __future__ import annotations

from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.core.responses import ActionResult
from moto.iam.responses import IamResponse

from support.loopback import Loopback, Reply
from trainrig.clouds.aws import session, store
from trainrig.clouds.aws.store import access, holds_data
from trainrig.clouds.base import Account
from trainrig.errors import PreflightFailed

ACCOUNT = Account(cloud="aws", regions=("us-west-2",))


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    session._session.cache_clear()
    session._client.cache_clear()


@mock_aws
def test_old_versions_are_data_and_a_missing_bucket_has_none() -> None:
    assert not holds_data(ACCOUNT, None, "team")
    s3 = boto3.client("s3", region_name="us-west-2")
    s3.create_bucket(Bucket="team", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    s3.put_bucket_versioning(Bucket="team", VersioningConfiguration={"Status": "Enabled"})
    assert not holds_data(ACCOUNT, None, "team")
    s3.put_object(Bucket="team", Key="run/1", Body=b"x")
    assert holds_data(ACCOUNT, None, "team")
    s3.delete_object(Bucket="team", Key="run/1")
    assert holds_data(ACCOUNT, None, "team")


def asked() -> str:
    return access(ACCOUNT, None, "team", region="us-west-2", endpoint=None)


def bucket() -> None:
    s3 = boto3.client("s3", region_name="us-west-2")
    s3.create_bucket(Bucket="team", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})


def allow(monkeypatch: pytest.MonkeyPatch, *denied: str) -> None:
    """moto does not simulate policies."""

    def answer(self: Any) -> ActionResult:
        assert self._get_param("ResourceArns") == ["arn:aws:s3:::team/*"]
        names = self._get_param("ActionNames")
        results = [{"EvalActionName": n, "EvalDecision": "implicitDeny" if n in denied else "allowed"} for n in names]
        return ActionResult({"EvaluationResults": results})

    monkeypatch.setattr(IamResponse, "simulate_principal_policy", answer, raising=False)
    monkeypatch.setattr(store, "principal", lambda _arn: "arn:aws:iam::123456789012:user/ada")


@mock_aws
def test_a_bucket_that_may_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket()
    allow(monkeypatch)
    assert asked() == "read and write"


@mock_aws
def test_a_bucket_that_may_only_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket()
    allow(monkeypatch, "s3:PutObject")
    with pytest.raises(PreflightFailed, match=r"missing on team/\*: s3:PutObject"):
        asked()


@mock_aws
def test_a_bucket_that_is_not_there() -> None:
    with pytest.raises(PreflightFailed, match="there is no bucket team") as caught:
        asked()
    assert caught.value.hint == "trainrig store apply"


@mock_aws
def test_what_nobody_may_ask_is_said() -> None:
    bucket()  # moto's own caller cannot be simulated
    assert asked() == "readable; whether it can be written was not asked"


def test_a_bucket_of_somebody_else_on_another_server(loopback: Loopback) -> None:
    loopback.route("HEAD", "/team", lambda _request: Reply(status=403, body=""))
    with pytest.raises(PreflightFailed, match="no access to the bucket team"):
        access(ACCOUNT, None, "team", region="us-west-2", endpoint=loopback.url)
