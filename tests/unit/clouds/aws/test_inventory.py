"""A rig as the module makes it, in moto. moto ends instances at once and lets volumes of an instance go with it."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.exceptions import ClientError

from support.rigs import identity
from trainrig.clouds.aws import delete_ec2, inventory
from trainrig.clouds.aws.blockers import blockers
from trainrig.clouds.aws.ec2_kinds import KINDS
from trainrig.clouds.base import Account, Resource
from trainrig.errors import CommandFailed
from trainrig.model.offer import Market

RUN = "abcd2345"
NAME = identity().resource_prefix
IMAGE = "ami-12c6146b"  # one that moto has
TRUST = json.dumps({"Version": "2012-10-17", "Statement": []})
POLICY = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/*"}],
    }
)


def tags(run_id: str = RUN) -> list[dict[str, str]]:
    labels = {**identity(run_id=run_id).all_labels(), "Name": identity(run_id=run_id).resource_prefix}
    return [{"Key": k, "Value": v} for k, v in labels.items()]


def tagged(kind: str, run_id: str = RUN) -> Any:
    return [{"ResourceType": kind, "Tags": tags(run_id)}]


def build(ec2: Any, iam: Any, run_id: str = RUN) -> str:
    """Everything that a rig of the module has; returns the instance's id."""
    name = identity(run_id=run_id).resource_prefix
    vpc = ec2.create_vpc(CidrBlock="10.77.0.0/16", TagSpecifications=tagged("vpc", run_id))["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.77.0.0/20", TagSpecifications=tagged("subnet", run_id))
    subnet_id = subnet["Subnet"]["SubnetId"]
    gateway = ec2.create_internet_gateway(TagSpecifications=tagged("internet-gateway", run_id))
    gateway_id = gateway["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway_id, VpcId=vpc)
    table = ec2.create_route_table(VpcId=vpc, TagSpecifications=tagged("route-table", run_id))
    table_id = table["RouteTable"]["RouteTableId"]
    ec2.create_route(RouteTableId=table_id, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway_id)
    ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)
    group_id = ec2.create_security_group(
        GroupName=name, Description="x", VpcId=vpc, TagSpecifications=tagged("security-group", run_id)
    )["GroupId"]
    ec2.authorize_security_group_ingress(
        GroupId=group_id, IpPermissions=[{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group_id}]}]
    )
    ec2.create_key_pair(KeyName=name, TagSpecifications=tagged("key-pair", run_id))
    ec2.create_placement_group(GroupName=name, Strategy="cluster", TagSpecifications=tagged("placement-group", run_id))
    ec2.create_launch_template(
        LaunchTemplateName=name,
        LaunchTemplateData={"InstanceType": "g4dn.xlarge"},
        TagSpecifications=tagged("launch-template", run_id),
    )
    role = {"RoleName": name, "Path": "/trainrig/"}
    iam.create_role(**role, AssumeRolePolicyDocument=TRUST)
    iam.put_role_policy(RoleName=name, PolicyName="data", PolicyDocument=POLICY)
    iam.create_instance_profile(InstanceProfileName=name, Path="/trainrig/")
    iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=name)
    started = ec2.run_instances(
        ImageId=IMAGE,
        InstanceType="g4dn.xlarge",
        MinCount=1,
        MaxCount=1,
        SubnetId=subnet_id,
        SecurityGroupIds=[group_id],
        KeyName=name,
        TagSpecifications=[*tagged("instance", run_id), *tagged("volume", run_id)],
    )
    instance: str = started["Instances"][0]["InstanceId"]
    address = ec2.allocate_address(Domain="vpc", TagSpecifications=tagged("elastic-ip", run_id))
    ec2.associate_address(AllocationId=address["AllocationId"], InstanceId=instance)
    ec2.create_volume(Size=100, AvailabilityZone="us-east-1a", TagSpecifications=tagged("volume", run_id))
    ec2.create_network_interface(SubnetId=subnet_id, TagSpecifications=tagged("network-interface", run_id))
    return instance


@pytest.fixture
def ec2(account: Account) -> Any:
    return boto3.client("ec2", region_name="us-east-1")


@pytest.fixture
def iam(account: Account) -> Any:
    return boto3.client("iam", region_name="us-east-1")


def test_a_whole_rig_is_found_and_deleted_in_order(account: Account, ec2: Any, iam: Any) -> None:
    instance = build(ec2, iam)
    before = list(inventory.find(account, RUN))

    assert {r.type for r in before} == set(inventory.ORDER) - {"spot_request"}
    assert [r.type for r in before] == sorted((r.type for r in before), key=inventory.ORDER.index)
    assert {r.run_id for r in before} == {RUN}
    machine = next(r for r in before if r.type == "instance")
    assert (machine.id, machine.market, machine.instance_type) == (instance, Market.ON_DEMAND, "g4dn.xlarge")
    disk = next(r for r in before if r.type == "volume" and r.price_hour_usd == Decimal(8) / 730)
    assert disk.expires_at == machine.expires_at is not None
    assert {r.expires_at for r in before} == {machine.expires_at}

    for resource in before:
        inventory.delete(account, resource)
    assert list(inventory.find(account, RUN)) == []
    for resource in before:  # absent is done
        inventory.delete(account, resource)


def test_a_role_that_is_left_alone_tells_its_lease(account: Account, iam: Any) -> None:
    iam.create_role(RoleName=NAME, Path="/trainrig/", AssumeRolePolicyDocument=TRUST, Tags=tags())
    iam.create_role(RoleName="other", Path="/trainrig/", AssumeRolePolicyDocument=TRUST)
    assert [(r.id, r.run_id, r.expires_at) for r in inventory.find(account)] == [(NAME, RUN, identity().expires_at)]


def test_only_the_run_that_is_asked_for(account: Account, ec2: Any, iam: Any) -> None:
    build(ec2, iam)
    other = build(ec2, iam, "zzzz2222")
    for resource in inventory.find(account, RUN):
        inventory.delete(account, resource)
    left = list(inventory.find(account))
    assert {r.run_id for r in left} == {"zzzz2222"}
    assert other in {r.id for r in left}


def test_what_is_not_ours_is_never_listed(account: Account, ec2: Any, iam: Any) -> None:
    ec2.create_vpc(CidrBlock="10.0.0.0/16")
    ec2.run_instances(ImageId=IMAGE, InstanceType="m5.large", MinCount=1, MaxCount=1)
    ec2.create_security_group(GroupName="web", Description="x")
    iam.create_role(RoleName="tr-other-abcd2345", Path="/", AssumeRolePolicyDocument=TRUST)
    boto3.client("s3", region_name="us-east-1").create_bucket(Bucket=f"{NAME}-data")
    assert list(inventory.find(account)) == []


def test_a_machine_without_tags_is_known_by_its_key(account: Account, ec2: Any) -> None:
    """What a spot request started again after everybody had gone."""
    ec2.create_key_pair(KeyName=NAME)
    started = ec2.run_instances(ImageId=IMAGE, InstanceType="g4dn.xlarge", MinCount=1, MaxCount=1, KeyName=NAME)
    found = {r.type: r for r in inventory.find(account)}
    assert found["instance"].id == started["Instances"][0]["InstanceId"]
    assert found["instance"].run_id is None
    assert {r.type: r.run_id for r in inventory.find(account, RUN)} == {"instance": RUN, "key_pair": RUN}


def test_every_region_is_looked_at(account: Account) -> None:
    west = boto3.client("ec2", region_name="us-west-2")
    west.create_key_pair(KeyName=NAME, TagSpecifications=tagged("key-pair"))
    both = replace(account, regions=("us-east-1", "us-west-2"))
    assert [(r.region, r.type) for r in inventory.find(both)] == [("us-west-2", "key_pair")]


def test_what_holds_a_network_is_named(account: Account, ec2: Any, iam: Any) -> None:
    """AWS says only that there is something."""
    build(ec2, iam)
    found = {r.type: r for r in inventory.find(account, RUN)}
    with pytest.raises(CommandFailed, match="DependencyViolation") as caught:
        inventory.delete(account, found["vpc"])
    assert caught.value.details["code"] == "DependencyViolation"
    assert f"{found['network_interface'].id} (" in caught.value.message
    assert f"{found['security_group'].id} ({NAME})" in caught.value.message
    assert f"{found['subnet'].id} ({NAME})" in caught.value.message


def test_who_made_a_blocking_interface_is_named() -> None:
    ec2 = Mock()
    ec2.describe_network_interfaces.return_value = {
        "NetworkInterfaces": [
            {"NetworkInterfaceId": "eni-1", "Description": "ELB app/web", "RequesterId": "amazon-elb"},
            {"NetworkInterfaceId": "eni-2", "Attachment": {"InstanceId": "i-9"}, "OwnerId": "123456789012"},
        ]
    }
    ec2.describe_security_groups.return_value = {
        "SecurityGroups": [{"GroupId": "sg-1", "GroupName": "own"}, {"GroupId": "sg-2", "GroupName": "web"}]
    }
    group = Resource(cloud="aws", region="r", type="security_group", id="sg-1", name="", run_id=RUN, expires_at=None)
    assert blockers(ec2, group) == (
        "eni-1 (ELB app/web, made by amazon-elb), eni-2 (of i-9, made by 123456789012), sg-2 (web)"
    )


def test_spot_requests_that_are_closed_do_not_count() -> None:
    kind = next(k for k in KINDS if k.type == "spot_request")
    assert kind.gone({"State": "cancelled"})
    assert not kind.gone({"State": "open"})


def test_what_instances_hold_waits_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    naps: list[float] = []
    monkeypatch.setattr("time.sleep", naps.append)
    ec2 = Mock()
    ec2.describe_instances.side_effect = [{"Reservations": [1]}, {"Reservations": [1]}, {"Reservations": []}]
    volume = Resource(cloud="aws", region="r", type="volume", id="v", name="", run_id=RUN, expires_at=None)
    delete_ec2.wait_for_instances(ec2, volume)
    assert len(naps) == 2
    assert {"Name": "tag:trainrig-run-id", "Values": [RUN]} in ec2.describe_instances.call_args.kwargs["Filters"]


def test_only_absence_is_fine() -> None:
    def failing(code: str) -> None:
        with delete_ec2.gone_is_fine():
            raise ClientError({"Error": {"Code": code, "Message": ""}}, "DeleteVolume")

    for code in ("InvalidVolume.NotFound", "InvalidPlacementGroup.Unknown", "NoSuchEntity"):
        failing(code)
    with pytest.raises(ClientError):
        failing("VolumeInUse")
