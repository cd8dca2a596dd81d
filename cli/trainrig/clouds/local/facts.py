"""What is true of this machine as a cloud."""

from __future__ import annotations

from decimal import Decimal

from trainrig.clouds.base import CloudFacts
from trainrig.model.fault import FaultClass, rule
from trainrig.model.offer import Market

FAULTS = (
    rule(r"no space left on device", FaultClass.CAPACITY, "this machine's disk is full"),
    rule(r"cannot allocate memory|no such device or address.*nvidia", FaultClass.CAPACITY, "this machine is full"),
    rule(
        r"unknown device|could not select device driver|nvidia-container-cli",
        FaultClass.CAPACITY,
        "this machine does not have the GPUs, or Docker cannot hand them out",
    ),
    rule(r"fully subnetted|could not find an available", FaultClass.QUOTA, "Docker has no subnet left"),
    rule(r"port is already allocated", FaultClass.EVENTUAL, "another program took the port first"),
    rule(r"has active endpoints|removal of container .* is already in progress", FaultClass.DEPENDENCY, "still in use"),
    rule(r"may not use Docker|[Pp]ermission denied", FaultClass.AUTH, "this user may not use Docker"),
    rule(
        r"Docker is not installed|does not answer|Cannot connect to the Docker",
        FaultClass.AUTH,
        "there is no Docker Engine to talk to",
    ),
    rule(r"is already in use by container|already exists", FaultClass.CONFIG, "the name is taken"),
    rule(r"Pool overlaps|invalid subnet|invalid CIDR", FaultClass.CONFIG, "the subnet cannot be used"),
    rule(r"No such image", FaultClass.CONFIG, "the node image is not there"),
    rule(r"did not come up", FaultClass.CONFIG, "a node does not boot on this machine"),
)

FACTS = CloudFacts(
    name="local",
    title="This machine",
    readiness="ready",
    markets=frozenset({Market.SPOT, Market.ON_DEMAND}),
    terraform_provider="terraform.local/trainrig/local",
    default_ssh_user="trainrig",
    faults=FAULTS,
    apply_deadline_seconds=300,
    interruptible_creates=True,
    preemption_notice_seconds=30,
    quiet_seconds=0.3,  # Docker shows a change at once; another process may be in the middle of one
    address_hour_usd=Decimal(0),
    disk_gb_month_usd=Decimal(0),
)
