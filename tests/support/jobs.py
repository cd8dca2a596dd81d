"""Jobs, offers and nodes for tests: valid, small, and changed by keyword."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from trainrig.model.job import Job
from trainrig.model.node import Node
from trainrig.model.offer import Market, Offer
from trainrig.render.launch import Launch

_OFFER = Offer(
    cloud="local",
    region="local",
    zone=None,
    instance_type="local-2",
    gpu=None,
    gpu_count=0,
    gpu_memory_gib=None,
    vcpus=2,
    memory_gib=4,
    market=Market.ON_DEMAND,
    price_hour_usd=Decimal(0),
    captured_at=datetime(2026, 1, 1, tzinfo=UTC),
    source="test",
)


def an_offer(**changes: Any) -> Offer:
    return replace(_OFFER, **changes)


def a_job(**changes: Any) -> Job:
    return Job(**{"name": "hello", "options": (), "run": "python train.py", **changes})


def a_node(rank: int = 0, **changes: Any) -> Node:
    base = Node(
        rank=rank,
        name=f"tr-hello-{rank}",
        public_ip=f"203.0.113.{rank + 1}",
        private_ip=f"10.0.0.{rank + 1}",
        instance_id=f"i-{rank}",
        ssh_user="root",
        ssh_port=22,
        host_key=f"ssh-ed25519 AAAA{rank}",
    )
    return replace(base, **changes)


def a_launch(nodes: int = 1, **changes: Any) -> Launch:
    values = {
        "job": a_job(),
        "nodes": tuple(map(a_node, range(nodes))),
        "offer": an_offer(),
        "image": "train:1",
        "rig": "hello",
        "run_id": "abc23456",
    }
    return Launch(**{**values, **changes})
