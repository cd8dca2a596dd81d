"""How a node's instance profile and role are deleted: each gives up what hangs on it first."""

from __future__ import annotations

from typing import Any

from trainrig.clouds.aws.delete_ec2 import Delete, gone_is_fine
from trainrig.clouds.base import Resource


def _instance_profile(iam: Any, resource: Resource) -> None:
    with gone_is_fine():
        profile = iam.get_instance_profile(InstanceProfileName=resource.id)["InstanceProfile"]
        for role in profile["Roles"]:
            iam.remove_role_from_instance_profile(InstanceProfileName=resource.id, RoleName=role["RoleName"])
        iam.delete_instance_profile(InstanceProfileName=resource.id)


def _role(iam: Any, resource: Resource) -> None:
    with gone_is_fine():
        for page in iam.get_paginator("list_role_policies").paginate(RoleName=resource.id):
            for name in page["PolicyNames"]:
                iam.delete_role_policy(RoleName=resource.id, PolicyName=name)
        for page in iam.get_paginator("list_attached_role_policies").paginate(RoleName=resource.id):
            for policy in page["AttachedPolicies"]:
                iam.detach_role_policy(RoleName=resource.id, PolicyArn=policy["PolicyArn"])
        iam.delete_role(RoleName=resource.id)


DELETE: dict[str, Delete] = {"instance_profile": _instance_profile, "role": _role}
