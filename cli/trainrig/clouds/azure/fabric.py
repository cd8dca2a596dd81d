"""Which Azure machines have InfiniBand between them: the table that the Terraform module decides from."""

from __future__ import annotations

from collections.abc import Mapping

from trainrig.clouds.families import family_table
from trainrig.model.fabric import ETHERNET, Fabric
from trainrig.model.offer import Market, Offer

_ONE_CARD = ("Standard_NC24rs_v3", "Standard_ND40rs_v2")


def fabric(offer: Offer, nodes: int, network: Mapping[str, str]) -> Fabric:  # noqa: ARG001
    """InfiniBand connects the machines of one availability set, which only machines on demand can be in."""
    if (
        nodes < 2
        or offer.market is not Market.ON_DEMAND
        or offer.instance_type not in family_table("azure")["infiniband"]
    ):
        return ETHERNET
    return Fabric(kind="infiniband", cards=1 if offer.instance_type in _ONE_CARD else max(1, offer.gpu_count))
