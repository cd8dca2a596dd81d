"""Orders for the stub cloud, and what it holds afterwards."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from support import rigs
from support.stub_cloud import provider
from trainrig.lifecycle.apply import Order
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.offer import Market
from trainrig.model.placement import Candidate
from trainrig.model.rig import RigIdentity

PLUGINS = Path(__file__).parent / "plugins"
ENVIRONMENT = Environment(name="test", clouds=(CloudPolicy(cloud="stub"),))
ROOT = """
terraform {
  required_providers {
    stub = { source = "terraform.local/tests/stub" }
  }
}
variable "rig" { type = object({ id = string, labels = map(string) }) }
variable "nodes" { type = number }
variable "lease_seconds" { type = number }
variable "zone" { type = string }
variable "market" { type = string }
resource "stub_network" "rig" {
  name   = "${var.rig.id}-network"
  labels = var.rig.labels
}
resource "stub_node" "rig" {
  count   = var.nodes
  name    = "${var.rig.id}-${count.index}"
  rank    = count.index
  zone    = var.zone
  market  = var.market
  network = stub_network.rig.id
  labels  = var.rig.labels
}
output "nodes" {
  value = [for n in stub_node.rig : {
    rank = n.rank, name = n.name, public_ip = null, private_ip = "10.0.0.1", instance_id = n.id,
    ssh_user = "root", ssh_port = 22, host_key = null
  }]
}
"""


def candidate(zone: str = "z-a", *, nodes: int = 2, price: str = "1.00", market: Market = Market.SPOT) -> Candidate:
    return rigs.candidate(
        nodes, cloud="stub", region="region-1", zone=zone, price_hour_usd=Decimal(price), market=market
    )


def order(candidates: Sequence[Candidate] | None = None, **changes: Any) -> Order:
    identity: RigIdentity = changes.pop("identity", rigs.identity())

    def make_root(chosen: Candidate, root: Path, attempt: str) -> None:
        root.mkdir(parents=True, exist_ok=True)
        (root / "main.tf").write_text(ROOT)
        values = {
            "rig": {"id": identity.resource_prefix, "labels": identity.all_labels()},
            "nodes": chosen.nodes,
            "lease_seconds": 3600,
            "zone": chosen.offer.zone,
            "market": chosen.offer.market,
        }
        (root / "terraform.tfvars.json").write_text(json.dumps(values))
        if os.environ.get("STUB_BACKEND"):
            (root / "backend.tf.json").write_text(os.environ["STUB_BACKEND"])
        if os.environ.get("STUB_PLUGIN"):
            provider.lay_plugin(root)

    return Order(
        identity=identity,
        candidates=tuple(candidates or (candidate(),)),
        make_root=make_root,
        details={"job_digest": "sha256:test"},
        **changes,
    )
