"""A rig as the AWS module makes it, in moto. moto ends instances at once, and lets their volumes go with them."""

from __future__ import annotations

import json
from typing import Any

from trainrig.model.rig import RigIdentity

IMAGE = "ami-12c6146b"  # one that moto has
TRUST = json.dumps({"Version": "2012-10-17", "Statement": []})
POLICY = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/*"}],
    }
)


def tags(rig: RigIdentity) -> list[dict[str, str]]:
    labels = {**rig.all_labels(), "Name": rig.resource_prefix}
    return [{"Key": k, "Value": v} for k, v in labels.items()]


def tagged(kind: str, rig: RigIdentity) -> Any:
    return [{"ResourceType": kind, "Tags": tags(rig)}]


def build(ec2: Any, iam: Any, rig: RigIdentity) -> str:
    """Everything that a rig of the module has; returns the instance's id."""
    name = rig.resource_prefix
    vpc = ec2.create_vpc(CidrBlock="10.77.0.0/16", TagSpecifications=tagged("vpc", rig))["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.77.0.0/20", TagSpecifications=tagged("subnet", rig))
    subnet_id = subnet["Subnet"]["SubnetId"]
    gateway = ec2.create_internet_gateway(TagSpecifications=tagged("internet-gateway", rig))
    gateway_id = gateway["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway_id, VpcId=vpc)
    table = ec2.create_route_table(VpcId=vpc, TagSpecifications=tagged("route-table", rig))
    table_id = table["RouteTable"]["RouteTableId"]
    ec2.create_route(RouteTableId=table_id, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway_id)
    ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)
    group_id = ec2.create_security_group(
        GroupName=name, Description="x", VpcId=vpc, TagSpecifications=tagged("security-group", rig)
    )["GroupId"]
    ec2.authorize_security_group_ingress(
        GroupId=group_id, IpPermissions=[{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group_id}]}]
    )
    ec2.create_key_pair(KeyName=name, TagSpecifications=tagged("key-pair", rig))
    ec2.create_placement_group(GroupName=name, Strategy="cluster", TagSpecifications=tagged("placement-group", rig))
    ec2.create_launch_template(
        LaunchTemplateName=name,
        LaunchTemplateData={"InstanceType": "g4dn.xlarge"},
        TagSpecifications=tagged("launch-template", rig),
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
        TagSpecifications=[*tagged("instance", rig), *tagged("volume", rig)],
    )
    instance: str = started["Instances"][0]["InstanceId"]
    address = ec2.allocate_address(Domain="vpc", TagSpecifications=tagged("elastic-ip", rig))
    ec2.associate_address(AllocationId=address["AllocationId"], InstanceId=instance)
    ec2.create_volume(Size=100, AvailabilityZone="us-east-1a", TagSpecifications=tagged("volume", rig))
    ec2.create_network_interface(SubnetId=subnet_id, TagSpecifications=tagged("network-interface", rig))
    return instance
