"""Nebius joins whole machines of eight GPUs by InfiniBand, within a fabric that the environment or the job names."""

from __future__ import annotations

from collections.abc import Mapping

from trainrig.model.fabric import ETHERNET, Fabric
from trainrig.model.offer import Offer


def fabric(offer: Offer, nodes: int, network: Mapping[str, str]) -> Fabric:
    _, _, preset = offer.instance_type.partition("_")
    if nodes < 2 or not preset.startswith("8gpu-") or "fabric" not in network:
        return ETHERNET
    return Fabric(kind="infiniband", cards=8)
