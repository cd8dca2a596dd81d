from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.exceptions import ClientError

from support.moto_rig import IMAGE, TRUST, build, tagged, tags
from support.rigs import identity
from trainrig.clouds.aws import delete_ec2, inventory
from trainrig.clouds.aws.blockers import blockers
from trainrig.clouds.aws.ec2_kinds import KINDS
from trainrig.clouds.base import Account, Resource
from trainrig.errors import CommandFailed
from trainrig.model.offer import Market

RUN = "abcd2345"
NAME = identity().resource_prefix


@pytest.fixture
def ec2(account: Account) -> Any:
    return boto3.client("ec2", region_name="us-east-1")


@pytest.fixture
def iam(account: Account) -> Any:
    return boto3.client("iam", region_name="us-east-1")


def test_a_whole_rig_is_found_and_deleted_in_order(account: Account, ec2: Any, iam: Any) -> None:
    instance = build(ec2, iam, identity())
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
    iam.create_role(RoleName=NAME, Path="/trainrig/", AssumeRolePolicyDocument=TRUST, Tags=tags(identity()))
    iam.create_role(RoleName="other", Path="/trainrig/", AssumeRolePolicyDocument=TRUST)
    assert [(r.id, r.run_id, r.expires_at) for r in inventory.find(account)] == [(NAME, RUN, identity().expires_at)]


def test_only_the_run_that_is_asked_for(account: Account, ec2: Any, iam: Any) -> None:
    build(ec2, iam, identity())
    other = build(ec2, iam, identity(run_id="zzzz2222"))
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


def test_labels_and_names_are_told_apart(account: Account, ec2: Any, iam: Any) -> None:
    """After an apply every machine and every disk must bear its labels: a name alone is not what a sweep believes."""
    build(ec2, iam, identity())
    found = {r.id: r for r in inventory.find(account, RUN)}
    machine = next(r for r in found.values() if r.type == "instance")
    (disk,) = machine.disks
    assert machine.labelled
    assert found[disk].labelled

    ec2.delete_tags(Resources=[machine.id, disk], Tags=tags(identity()))
    again = {r.id: r for r in inventory.find(account, RUN)}
    assert not again[machine.id].labelled
    assert disk not in again


def test_every_region_is_looked_at(account: Account) -> None:
    west = boto3.client("ec2", region_name="us-west-2")
    west.create_key_pair(KeyName=NAME, TagSpecifications=tagged("key-pair", identity()))
    both = replace(account, regions=("us-east-1", "us-west-2"))
    assert [(r.region, r.type) for r in inventory.find(both)] == [("us-west-2", "key_pair")]


def test_what_holds_a_network_is_named(account: Account, ec2: Any, iam: Any) -> None:
    """AWS says only that there is something."""
    build(ec2, iam, identity())
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
    assert [state for state in ("open", "active", "disabled") if kind.gone({"State": state})] == []
    assert [state for state in ("closed", "cancelled", "failed") if not kind.gone({"State": state})] == []


def test_a_spot_request_goes_before_the_machine_that_it_would_start_again(account: Account, ec2: Any) -> None:
    ec2.create_key_pair(KeyName=NAME)
    launch = {"ImageId": IMAGE, "InstanceType": "g4dn.xlarge", "KeyName": NAME}
    ec2.request_spot_instances(InstanceCount=1, Type="persistent", LaunchSpecification=launch)
    found = list(inventory.find(account, RUN))
    assert [r.type for r in found] == ["spot_request", "instance", "key_pair"]
    for resource in found:
        inventory.delete(account, resource)
    assert list(inventory.find(account, RUN)) == []


def test_a_spot_request_is_known_by_the_profile_that_it_would_give() -> None:
    kind = next(k for k in KINDS if k.type == "spot_request")
    assert kind.name({"LaunchSpecification": {"IamInstanceProfile": {"Name": NAME}}}) == NAME


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
