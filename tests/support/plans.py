"""Plans for report tests, made without Terraform."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from support import rigs
from support.offers import NOW, offer, placed
from trainrig.model.plan import Finding, Plan, PlannedResource


def resource(address: str, **values: Any) -> PlannedResource:
    type_ = address.rsplit(".", 2)[-2]
    return PlannedResource(address=address, type=type_, actions=("create",), values=values)


RESOURCES = (
    resource("module.rig.aws_instance.node[0]", instance_type="p4d.24xlarge"),
    resource("module.rig.aws_iam_role_policy.node[0]", policy='{"Action": ["s3:GetObject"]}'),
    resource("module.rig.aws_vpc_security_group_ingress_rule.ssh[0]", cidr_ipv4="203.0.113.7/32", from_port=22),
)


def plan(price: str = "10", **changes: Any) -> Plan:
    values: dict[str, Any] = {
        "identity": rigs.identity(name="train"),
        "placement": placed([offer(price, zone="use1-az1"), offer("12", region="us-east-2", zone="use2-az1")]),
        "offline": False,
        "digest": "sha256:" + "a" * 64,
        "terraform_digest": "sha256:" + "b" * 64,
        "expires_at": NOW + timedelta(hours=24),
        "resources": RESOURCES,
        "findings": (Finding(code="no_lock", detail="the shipped pins serve"),),
        "unknown": (),
        "pins": {"driver": "580.126.09", "container": "team/train:1.2"},
        "lease_seconds": 24 * 3600,
    }
    return Plan(**{**values, **changes})
