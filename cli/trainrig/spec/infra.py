"""Places: `infra: aws/us-east-1/us-east-1a`, or the older `cloud`, `region`, `zone`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from trainrig.spec.nodes import Bad, Node
from trainrig.spec.scalars import string
from trainrig.spec.tables import Form, did_you_mean

# Where SkyPilot also runs: a job file may name them, and an offer of such a cloud may be imported. Ours are added by
# clouds/, whose names this package does not know; they are all of this shape.
SKYPILOT_CLOUDS: Final = frozenset(
    [
        "aws",
        "azure",
        "gcp",
        "ibm",
        "lambda",
        "scp",
        "oci",
        "kubernetes",
        "runpod",
        "vast",
        "vsphere",
        "cudo",
        "fluidstack",
        "paperspace",
        "primeintellect",
        "do",
        "nebius",
        "ssh",
        "slurm",
        "hyperbolic",
        "seeweb",
        "shadeform",
        "yotta",
        "mithril",
        "verda",
    ]
)
# SkyPilot runs on these, but nobody rents them by the hour.
NOT_RENTED: Final = {
    "kubernetes": "trainrig rents machines, and a Kubernetes cluster is not one",
    "ssh": "trainrig rents machines, and those you have already need no rental",
    "slurm": "trainrig rents machines, and a Slurm cluster is not one",
}
_ALIASES: Final = {"k8s": "kubernetes"}
_CLOUD: Final = re.compile(r"[a-z][a-z0-9_-]{0,40}\Z")
_PLACE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@/-]{0,200}\Z")  # / and : are in names of Kubernetes contexts


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    cloud: str | None = None
    region: str | None = None
    zone: str | None = None


def _cloud(node: Node) -> str | None:
    word = string(node).strip().lower()
    if word == "*":
        return None
    word = _ALIASES.get(word, word)
    if not _CLOUD.match(word):
        raise Bad(node, f"`{word}` is not a cloud's name", "for example aws, gcp, azure, local")
    return word


def _place(node: Node) -> str | None:
    word = string(node).strip()
    if word == "*":
        return None
    if not _PLACE.match(word):
        raise Bad(node, f"`{word}` is not the name of a region or zone", "for example us-east-1")
    return word


def _infra(node: Node) -> Place:
    parts = string(node).strip().strip("/").split("/")
    cloud = _ALIASES.get(parts[0].lower(), parts[0].lower())
    if cloud in NOT_RENTED:
        return Place(cloud=cloud)  # what follows is a context or a pool, which may hold slashes
    if len(parts) > 3:
        raise Bad(node, f"`{'/'.join(parts)}` has more than three parts", "write cloud/region/zone, with * for any")
    names = [None if p == "*" else p for p in (cloud, *parts[1:])]
    if names[0] is not None and not _CLOUD.match(names[0]):
        raise Bad(node, f"`{parts[0]}` is not a cloud's name", "for example aws, gcp/us-central1, */us-east-1")
    for name in names[1:]:
        if name is not None and not _PLACE.match(name):
            raise Bad(node, f"`{name}` is not the name of a region or zone", "for example us-east-1")
    region, zone = [*names[1:], None, None][:2]
    return Place(cloud=names[0], region=region, zone=zone)


def unknown_cloud(cloud: str, known: frozenset[str]) -> str | None:
    """A hint when the cloud is nobody's, else None."""
    names = known | SKYPILOT_CLOUDS | {"local"}
    return None if cloud in names else did_you_mean(cloud, names - frozenset(NOT_RENTED))


CLOUD: Final = Form(read=_cloud, shows="`aws`, `gcp`, `azure`, `local`, ...", schema={"type": "string"})
PLACE: Final = Form(read=_place, shows="name", schema={"type": "string"})
INFRA: Final = Form(read=_infra, shows="`aws`, `aws/us-east-1`, `gcp/*/us-central1-a`", schema={"type": "string"})
