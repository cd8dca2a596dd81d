"""How each kind of EC2 resource is deleted. What is not there any more is deleted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError

from trainrig.clouds.base import Resource
from trainrig.clouds.leftovers import RUN_ID_LABEL

WAIT_SECONDS = 600  # a machine with eight GPUs takes minutes to end
POLL_SECONDS = 5

Delete = Callable[[Any, Resource], None]


@contextmanager
def gone_is_fine() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        code = error.response["Error"].get("Code", "")
        if not (code.endswith((".NotFound", ".Unknown", "NotFoundException")) or code == "NoSuchEntity"):
            raise


def wait_for_instances(ec2: Any, resource: Resource) -> None:
    """Until none of the run's instances is ending: before that, all that they hold refuses to go."""
    if resource.run_id is None:
        return
    filters = [
        {"Name": f"tag:{RUN_ID_LABEL}", "Values": [resource.run_id]},
        {"Name": "instance-state-name", "Values": ["shutting-down"]},
    ]
    until = time.monotonic() + WAIT_SECONDS
    while ec2.describe_instances(Filters=filters)["Reservations"] and time.monotonic() < until:
        time.sleep(POLL_SECONDS)


def _instance(ec2: Any, resource: Resource) -> None:
    with gone_is_fine():
        ec2.terminate_instances(InstanceIds=[resource.id])


def _spot_request(ec2: Any, resource: Resource) -> None:
    with gone_is_fine():
        ec2.cancel_spot_instance_requests(SpotInstanceRequestIds=[resource.id])


def _address(ec2: Any, resource: Resource) -> None:
    with gone_is_fine():
        for address in ec2.describe_addresses(AllocationIds=[resource.id])["Addresses"]:
            if address.get("AssociationId"):
                ec2.disassociate_address(AssociationId=address["AssociationId"])
        ec2.release_address(AllocationId=resource.id)


def _network_interface(ec2: Any, resource: Resource) -> None:
    with gone_is_fine():
        found = ec2.describe_network_interfaces(NetworkInterfaceIds=[resource.id])["NetworkInterfaces"]
        for attachment in (i.get("Attachment") or {} for i in found):
            if attachment.get("DeviceIndex"):  # the primary one goes with its instance
                ec2.detach_network_interface(AttachmentId=attachment["AttachmentId"], Force=True)
        ec2.delete_network_interface(NetworkInterfaceId=resource.id)


def _security_group(ec2: Any, resource: Resource) -> None:
    """Rules first: two groups that name each other hold each other (terraform-provider-aws#2445)."""
    with gone_is_fine():
        for group in ec2.describe_security_groups(GroupIds=[resource.id])["SecurityGroups"]:
            for rules, revoke in (
                (group["IpPermissions"], ec2.revoke_security_group_ingress),
                (group["IpPermissionsEgress"], ec2.revoke_security_group_egress),
            ):
                if rules:
                    revoke(GroupId=resource.id, IpPermissions=rules)
        ec2.delete_security_group(GroupId=resource.id)


def _route_table(ec2: Any, resource: Resource) -> None:
    with gone_is_fine():
        for table in ec2.describe_route_tables(RouteTableIds=[resource.id])["RouteTables"]:
            for association in table.get("Associations", []):
                ec2.disassociate_route_table(AssociationId=association["RouteTableAssociationId"])
        ec2.delete_route_table(RouteTableId=resource.id)


def _internet_gateway(ec2: Any, resource: Resource) -> None:
    with gone_is_fine():
        found = ec2.describe_internet_gateways(InternetGatewayIds=[resource.id])["InternetGateways"]
        for attachment in (a for gateway in found for a in gateway.get("Attachments", [])):
            ec2.detach_internet_gateway(InternetGatewayId=resource.id, VpcId=attachment["VpcId"])
        ec2.delete_internet_gateway(InternetGatewayId=resource.id)


def _simple(call: str, argument: str) -> Delete:
    def run(ec2: Any, resource: Resource) -> None:
        with gone_is_fine():
            getattr(ec2, call)(**{argument: resource.id})

    return run


DELETE: dict[str, Delete] = {
    "instance": _instance,
    "spot_request": _spot_request,
    "volume": _simple("delete_volume", "VolumeId"),
    "address": _address,
    "network_interface": _network_interface,
    "launch_template": _simple("delete_launch_template", "LaunchTemplateId"),
    "placement_group": _simple("delete_placement_group", "GroupName"),
    "key_pair": _simple("delete_key_pair", "KeyName"),
    "security_group": _security_group,
    "subnet": _simple("delete_subnet", "SubnetId"),
    "route_table": _route_table,
    "internet_gateway": _internet_gateway,
    "vpc": _simple("delete_vpc", "VpcId"),
}
