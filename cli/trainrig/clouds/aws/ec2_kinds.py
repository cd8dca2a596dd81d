"""The kinds of EC2 resources that a rig has, in the order in which they can be deleted, and how each is named.

Lists are read whole and judged here, since an orphan of a spot request has no tags to filter by
(github-aws-runners/terraform-aws-github-runner#5204), and what started it lives on (terraform-provider-aws#38142).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trainrig.clouds.leftovers import PREFIX

Item = Mapping[str, Any]


def tags_of(item: Item) -> dict[str, str]:
    return {t["Key"]: t["Value"] for t in item.get("Tags") or item.get("TagSet", [])}


def _tagged_name(item: Item) -> str:
    return tags_of(item).get("Name", "")


def _instance_name(item: Item) -> str:
    """Its own name, else that of its profile or of a security group, which an orphan still has."""
    profile = item.get("IamInstanceProfile", {})
    by_profile = profile.get("Arn", "").rpartition("/")[2] or profile.get("Name", "")
    groups = [g["GroupName"] for g in item.get("SecurityGroups", [])]
    names = [_tagged_name(item), by_profile, item.get("KeyName", ""), *groups]
    return next((n for n in names if n.startswith(PREFIX)), _tagged_name(item))


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """`gone` says what only looks like it is still there, or goes by itself."""

    type: str
    call: str
    key: str  # of the answer
    id: str
    name: Callable[[Item], str] = _tagged_name
    by_tag: bool = False  # only tagged ones are of interest: the list would be long, and an orphan's go with it
    gone: Callable[[Item], bool] = lambda _item: False


KINDS = (
    # Before its machines: while it is there, it may start another for one that ends.
    Kind(
        type="spot_request",
        call="describe_spot_instance_requests",
        key="SpotInstanceRequests",
        id="SpotInstanceRequestId",
        name=lambda i: _instance_name({**i.get("LaunchSpecification", {}), **i}),
        # A disabled one is persistent, waits for its stopped machine, and can start it again.
        gone=lambda i: i["State"] in {"closed", "cancelled", "failed"},
    ),
    Kind(
        type="instance",
        call="describe_instances",
        key="Reservations",
        id="InstanceId",
        name=_instance_name,
        gone=lambda i: i["State"]["Name"] == "terminated",
    ),
    Kind(
        type="volume",
        call="describe_volumes",
        key="Volumes",
        id="VolumeId",
        by_tag=True,
        gone=lambda i: i["State"] in {"deleting", "deleted"},
    ),
    Kind(type="address", call="describe_addresses", key="Addresses", id="AllocationId"),
    Kind(
        type="network_interface",
        call="describe_network_interfaces",
        key="NetworkInterfaces",
        id="NetworkInterfaceId",
        name=lambda i: next((g["GroupName"] for g in i.get("Groups", [])), "") or _tagged_name(i),
    ),
    Kind(
        type="launch_template",
        call="describe_launch_templates",
        key="LaunchTemplates",
        id="LaunchTemplateId",
        name=lambda i: str(i["LaunchTemplateName"]),
    ),
    Kind(
        type="placement_group",
        call="describe_placement_groups",
        key="PlacementGroups",
        id="GroupName",
        name=lambda i: str(i["GroupName"]),
        gone=lambda i: i.get("State") in {"deleting", "deleted"},
    ),
    Kind(
        type="key_pair",
        call="describe_key_pairs",
        key="KeyPairs",
        id="KeyName",
        name=lambda i: str(i["KeyName"]),
    ),
    Kind(
        type="security_group",
        call="describe_security_groups",
        key="SecurityGroups",
        id="GroupId",
        name=lambda i: str(i["GroupName"]),
        gone=lambda i: i["GroupName"] == "default",  # it goes with its network
    ),
    Kind(type="subnet", call="describe_subnets", key="Subnets", id="SubnetId"),
    Kind(
        type="route_table",
        call="describe_route_tables",
        key="RouteTables",
        id="RouteTableId",
        gone=lambda i: any(a.get("Main") for a in i.get("Associations", [])),  # it goes with its network
    ),
    Kind(type="internet_gateway", call="describe_internet_gateways", key="InternetGateways", id="InternetGatewayId"),
    Kind(type="vpc", call="describe_vpcs", key="Vpcs", id="VpcId", gone=lambda i: bool(i.get("IsDefault"))),
)
