from __future__ import annotations

import boto3
import pytest
from moto import mock_aws

from trainrig.clouds.aws.store import holds_data
from trainrig.clouds.base import Account

ACCOUNT = Account(cloud="aws", regions=("us-west-2",))


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


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
