"""What holds a network resource that EC2 will not delete: its refusal does not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainrig.clouds.aws.ec2_kinds import tags_of
from trainrig.clouds.base import Resource

# Kind of resource -> EC2's filter for network interfaces in it.
_INTERFACES_IN = {"vpc": "vpc-id", "subnet": "subnet-id", "security_group": "group-id"}
SHOWN = 5


def blockers(ec2: Any, resource: Resource) -> str:
    """`eni-1 (ELB app/web, made by amazon-elb), sg-2 (web)`; empty when nothing is seen."""
    if resource.type not in _INTERFACES_IN:
        return ""
    found = [*_interfaces(ec2, resource), *_groups(ec2, resource), *_subnets(ec2, resource)]
    return ", ".join(found[:SHOWN]) + (f" and {len(found) - SHOWN} more" if len(found) > SHOWN else "")


def _interfaces(ec2: Any, resource: Resource) -> Iterator[str]:
    wanted = [{"Name": _INTERFACES_IN[resource.type], "Values": [resource.id]}]
    for item in ec2.describe_network_interfaces(Filters=wanted)["NetworkInterfaces"]:
        instance = (item.get("Attachment") or {}).get("InstanceId")
        what = f"of {instance}" if instance else item.get("Description") or item.get("InterfaceType", "interface")
        maker = item.get("RequesterId") or item.get("OwnerId", "unknown")
        yield f"{item['NetworkInterfaceId']} ({what}, made by {maker})"


def _groups(ec2: Any, resource: Resource) -> Iterator[str]:
    """Groups of the network, or those whose rules name the group."""
    if resource.type == "subnet":
        return
    name = "vpc-id" if resource.type == "vpc" else "ip-permission.group-id"
    for item in ec2.describe_security_groups(Filters=[{"Name": name, "Values": [resource.id]}])["SecurityGroups"]:
        if item["GroupName"] != "default" and item["GroupId"] != resource.id:
            yield f"{item['GroupId']} ({item['GroupName']})"


def _subnets(ec2: Any, resource: Resource) -> Iterator[str]:
    if resource.type != "vpc":
        return
    for item in ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [resource.id]}])["Subnets"]:
        yield f"{item['SubnetId']}{_named(tags_of(item))}"


def _named(tags: Mapping[str, str]) -> str:
    return f" ({tags['Name']})" if "Name" in tags else ""
