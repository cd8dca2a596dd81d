"""What is true of the stub cloud."""

from __future__ import annotations

import os
from decimal import Decimal

from trainrig.clouds.base import CloudFacts
from trainrig.model.fault import FaultClass, rule
from trainrig.model.offer import Market

FACTS = CloudFacts(
    name="stub",
    title="A folder that plays a cloud",
    readiness="preview",
    markets=frozenset({Market.SPOT, Market.ON_DEMAND}),
    terraform_provider="terraform.local/tests/stub",
    default_ssh_user="root",
    faults=(
        rule("InsufficientCapacity", FaultClass.CAPACITY, "no machine is free there"),
        rule("QuotaExceeded", FaultClass.QUOTA, "the quota is used up"),
        rule("NotYetVisible", FaultClass.EVENTUAL, "the cloud does not see it yet"),
        rule("DependencyViolation", FaultClass.DEPENDENCY, "something still uses it"),
        rule(r"AccessDenied: (?P<permission>\S+)", FaultClass.AUTH, "the credentials lack {permission}"),
        rule("InvalidParameter", FaultClass.CONFIG, "the request is wrong"),
    ),
    apply_deadline_seconds=int(os.environ.get("STUB_DEADLINE", "30")),
    interruptible_creates=True,
    preemption_notice_seconds=30,
    address_hour_usd=Decimal(0),
    disk_gb_month_usd=Decimal(0),
    quiet_seconds=0,
    zones_named=r"free in (?P<zones>[\w, -]+)",
)
