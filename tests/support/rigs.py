"""Makes rig requests for tests, with every field set to something plausible."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from support.jobs import a_job
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.environment import Environment
from trainrig.model.events import silent
from trainrig.model.node import Node
from trainrig.model.offer import Market, Offer
from trainrig.model.placement import Candidate, CatalogStamp, CostParts, Placement
from trainrig.model.rig import RigIdentity
from trainrig.render.request import PinnedImage, RigRequest

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl trainrig"


def offer(**changes: Any) -> Offer:
    values: dict[str, Any] = {
        "cloud": "aws",
        "region": "us-east-1",
        "zone": "us-east-1a",
        "instance_type": "p4d.24xlarge",
        "gpu": "A100",
        "gpu_count": 8,
        "gpu_memory_gib": 40.0,
        "vcpus": 96,
        "memory_gib": 1152,
        "market": Market.SPOT,
        "price_hour_usd": Decimal("11.57"),
        "captured_at": NOW,
        "source": "test",
    }
    return Offer(**{**values, **changes})


def candidate(nodes: int = 1, **offer_changes: Any) -> Candidate:
    zero = Decimal(0)
    parts = CostParts(
        compute_usd=Decimal("46.28"),
        disk_usd=zero,
        network_usd=zero,
        egress_usd=zero,
        lost_work_usd=zero,
        setup_usd=zero,
    )
    return Candidate(offer=offer(**offer_changes), nodes=nodes, expected_hours=Decimal(4), parts=parts)


def placement() -> Placement:
    """One candidate and nothing beside it."""
    return Placement(
        job="finetune",
        catalog=CatalogStamp(digest="d", captured_at=None, age_hours=None, offers=1),
        chosen=candidate(),
        fallbacks=(),
        rejections=(),
    )


def identity(**changes: Any) -> RigIdentity:
    values: dict[str, Any] = {
        "name": "finetune",
        "run_id": "abcd2345",
        "owner": "ada",
        "project": "trainrig",
        "environment": "test",
        "expires_at": datetime(2026, 3, 2, 12, 0, tzinfo=UTC),
    }
    return RigIdentity(**{**values, **changes})


def request(*, nodes: int = 1, offer_changes: dict[str, Any] | None = None, **changes: Any) -> RigRequest:
    values: dict[str, Any] = {
        "identity": identity(),
        "candidate": candidate(nodes, **(offer_changes or {})),
        "nodes": nodes,
        "disk_gb": 256,
        "image": PinnedImage(id="ami-0123456789abcdef0", name="Deep Learning Base 20260403", driver="580.126.09"),
        "ssh_public_key": PUBLIC_KEY,
        "ssh_ingress_cidrs": ("203.0.113.7/32",),
        "lease_seconds": 86400,
    }
    return RigRequest(**{**values, **changes})


def node(rank: int = 0, **changes: Any) -> Node:
    values: dict[str, Any] = {
        "rank": rank,
        "name": f"node-{rank}",
        "public_ip": "192.0.2.1",
        "private_ip": f"10.0.0.{rank + 2}",
        "instance_id": f"i-{rank}",
        "ssh_user": "root",
        "ssh_port": 22,
    }
    return Node(**{**values, **changes})


def in_an_hour() -> datetime:
    """A lease for resources that really exist."""
    return datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)


def run() -> RunContext:
    """A run that is about to begin: its folder and its line in the journal are there."""
    made = RunContext(
        identity=identity(),
        job=a_job(),
        environment=Environment(name="test", clouds=()),
        placement=Placement(
            job="hello",
            catalog=CatalogStamp(digest="d", captured_at=None, age_hours=None, offers=1),
            chosen=candidate(),
            fallbacks=(),
            rejections=(),
        ),
        observe=silent,
    )
    made.rig.create()
    with made.opened() as context:
        context.journal.intend(made.identity, details={})
    return made
