"""Rigs of every cloud, market and option that a module branches on: what the contract tests render and run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from support import rigs
from trainrig.model.offer import Market
from trainrig.render.request import PinnedImage, RigRequest

SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
_SUBNET = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/v/subnets/s"
_CAPACITY = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/r/providers/Microsoft.Compute/capacityReservationGroups/g"


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    name: str
    request: RigRequest

    @property
    def cloud(self) -> str:
        return self.request.candidate.offer.cloud


_CLOUDS: dict[str, dict[str, Any]] = {
    "aws": {
        "image": PinnedImage(id="ami-0123456789abcdef0", name="Deep Learning Base 20260403"),
        "account": {"account_id": "123456789012"},
        "checkpoint_prefix": "s3://checkpoints/runs/abcd2345/",
        "read_write_urls": ("s3://results/resnet", "gs://elsewhere/results"),
        "read_only_urls": ("s3://datasets/imagenet/", "gs://elsewhere/data/"),
        "container": "123456789012.dkr.ecr.us-east-1.amazonaws.com/team/train:1",
        "place": {"region": "us-east-1", "zone": "us-east-1a"},
    },
    "gcp": {
        "image": PinnedImage(
            id="projects/deeplearning-platform-release/global/images/common-cu129-v20260909", name="x"
        ),
        "account": {"project": "training"},
        "checkpoint_prefix": "gs://checkpoints/runs/abcd2345/",
        "read_write_urls": ("gs://results/resnet", "s3://elsewhere/results"),
        "read_only_urls": ("gs://datasets/imagenet/", "s3://elsewhere/data/"),
        "container": "us-docker.pkg.dev/training/team/train:1",
        "place": {"region": "us-central1", "zone": "us-central1-a"},
    },
    "azure": {
        "image": PinnedImage(id="microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901", name="x"),
        "account": {
            "subscription": SUBSCRIPTION,
            "storage_resource_group": "data",
            "registry_resource_group": "images",
        },
        "checkpoint_prefix": "az://account/checkpoints/runs/abcd2345/",
        "read_write_urls": ("az://account/results/resnet", "s3://elsewhere/results"),
        "read_only_urls": ("az://account/datasets/imagenet/", "s3://elsewhere/data/"),
        "container": "teamimages.azurecr.io/train:1",
        "place": {"region": "eastus", "zone": "1"},
    },
}

SPOT, ON_DEMAND, RESERVED = Market.SPOT, Market.ON_DEMAND, Market.RESERVED

_NO_DATA: dict[str, Any] = {
    "checkpoint_prefix": None,
    "read_write_urls": (),
    "read_only_urls": (),
    "container": None,
}
_INSIDE: dict[str, Any] = {"ssh_ingress_cidrs": (), **_NO_DATA}  # reached from a bastion, and with no rights of its own
_BOTH_VERSIONS = ("203.0.113.0/24", "2001:db8::/48")

# cloud, what is special, market, nodes, instance type, what else differs
_ROWS: list[tuple[str, str, Market, int, str, dict[str, Any]]] = [
    ("aws", "one", SPOT, 1, "g5.xlarge", {}),
    ("aws", "two-efa-single-card", SPOT, 2, "g5.48xlarge", {}),
    ("aws", "four-efa-cards", ON_DEMAND, 2, "p4d.24xlarge", {}),
    ("aws", "two-efa-32-cards", SPOT, 2, "p5.48xlarge", {}),
    ("aws", "two-first-card-without-efa", ON_DEMAND, 2, "p6-b300.48xlarge", {}),
    ("aws", "reservation", RESERVED, 2, "p5.48xlarge", {"reservation": "cr-0123456789abcdef0"}),
    ("aws", "capacity-block", RESERVED, 1, "p5.48xlarge", {"reservation": "block:cr-0123456789abcdef0"}),
    ("aws", "no-placement-group", ON_DEMAND, 2, "t3.large", {}),
    (
        *("aws", "existing-network-image-by-name", SPOT, 1, "g5.xlarge"),
        {
            "existing_network": {"vpc": "vpc-1", "subnet": "subnet-1"},
            "image": PinnedImage(id="Deep Learning 20260403", name="x"),
        },
    ),
    (
        *("aws", "bastion", SPOT, 2, "p4d.24xlarge"),
        {"existing_network": {"vpc": "vpc-1", "subnet": "subnet-1", "public_ip": "false"}, **_INSIDE},
    ),
    (
        *("aws", "ipv6-and-key", ON_DEMAND, 1, "g5.xlarge"),
        {
            "ssh_ingress_cidrs": _BOTH_VERSIONS,
            "account": {"checkpoint_kms_key_arn": "arn:aws:kms:us-east-1:123456789012:key/1234"},
            "place": {"zone": "use1-az4"},
        },
    ),
    ("gcp", "one", SPOT, 1, "a2-highgpu-1g", {}),
    ("gcp", "two-compact", SPOT, 2, "a2-highgpu-8g", {"place": {"local_disk_gb": 3000}}),
    ("gcp", "two-gvnic", ON_DEMAND, 2, "a3-megagpu-8g", {}),
    ("gcp", "two-rdma", SPOT, 2, "a3-ultragpu-8g", {}),
    ("gcp", "reservation", RESERVED, 2, "a3-highgpu-8g", {"reservation": "team-h100"}),
    ("gcp", "calendar", RESERVED, 1, "a3-highgpu-8g", {"reservation": "calendar:team-h100"}),
    ("gcp", "flex-start", RESERVED, 1, "a3-highgpu-8g", {"reservation": "flex-start"}),
    (
        *("gcp", "attached-gpu-ipv6", ON_DEMAND, 1, "n1-highmem-16"),
        {"place": {"gpu": "T4", "gpu_count": 4}, "ssh_ingress_cidrs": _BOTH_VERSIONS},
    ),
    ("gcp", "no-gpu", ON_DEMAND, 1, "e2-standard-4", {"place": {"gpu": None, "gpu_count": 0}}),
    (
        *("gcp", "bastion", SPOT, 1, "a2-highgpu-1g"),
        {"existing_network": {"network": "n", "subnetwork": "s", "public_ip": "false"}, **_INSIDE},
    ),
    ("azure", "one", SPOT, 1, "Standard_NC24ads_A100_v4", {}),
    (
        *("azure", "long-lease-no-zone", ON_DEMAND, 1, "Standard_NC6s_v3"),
        {"place": {"zone": None}, "lease_seconds": 7 * 86400},
    ),
    ("azure", "two-close", SPOT, 2, "Standard_NC24ads_A100_v4", {}),
    ("azure", "two-infiniband", ON_DEMAND, 2, "Standard_ND96isr_H100_v5", {}),
    ("azure", "reservation", RESERVED, 2, "Standard_ND96isr_H100_v5", {"reservation": _CAPACITY}),
    (
        *("azure", "bastion", SPOT, 1, "Standard_NC24ads_A100_v4"),
        {"existing_network": {"subnet": _SUBNET, "public_ip": "false"}, **_INSIDE},
    ),
]


def _cases() -> Iterator[Case]:
    for cloud, special, market, nodes, instance_type, changes in _ROWS:
        values = {**_CLOUDS[cloud], **changes}
        place = {**_CLOUDS[cloud]["place"], **changes.get("place", {})}
        values["account"] = {**_CLOUDS[cloud]["account"], **changes.get("account", {})}
        del values["place"]
        offer = {"cloud": cloud, "market": market, "instance_type": instance_type, **place}
        request = rigs.request(nodes=nodes, offer_changes=offer, **values)
        yield Case(name=f"{cloud}-{market.value}-{special}", request=request)


CASES = list(_cases())
