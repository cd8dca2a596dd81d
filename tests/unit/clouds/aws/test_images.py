from __future__ import annotations

import boto3
import pytest
from moto import mock_aws

from trainrig.clouds.aws import images
from trainrig.clouds.aws.images import find, newest
from trainrig.clouds.base import Account

NAME = "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) 20260403"


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Account:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    return Account(cloud="aws", regions=("us-west-2",))


def publish(name: str, description: str) -> str:
    """An image of ours in moto; that it is not Amazon's own makes `find` not see it."""
    ec2 = boto3.client("ec2", region_name="us-west-2")
    reservation = ec2.run_instances(ImageId="ami-12345678", MinCount=1, MaxCount=1)
    image = ec2.create_image(InstanceId=reservation["Instances"][0]["InstanceId"], Name=name, Description=description)
    return image["ImageId"]


@mock_aws
def test_the_parameter_names_the_newest_image_and_its_words_the_driver(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    ami = publish(NAME, "Supported: P5. NVIDIA driver version: 580.126.09. CUDA 12.8")
    monkeypatch.setattr(images, "PARAMETER", "/ours/{arch}")  # /aws/ is AWS's own, and moto's has no such image
    boto3.client("ssm", region_name="us-west-2").put_parameter(Name="/ours/x86_64", Value=ami, Type="String")
    image = newest(account, "us-west-2", "x86_64")
    assert image is not None
    assert (image.name, image.id, image.driver, image.cuda) == (NAME, ami, "580.126.09", "12.8")
    assert newest(account, "us-west-2", "arm64") is None


@mock_aws
def test_an_image_that_is_not_amazons_own_is_not_found_by_name(account: Account) -> None:
    publish(NAME, "a copy by somebody")
    assert find(account, "us-west-2", NAME) is None
