"""Which AWS machines have EFA between them: the table that the Terraform module attaches the cards from."""

from __future__ import annotations

from collections.abc import Mapping

from trainrig.clouds.families import family_table
from trainrig.model.fabric import ETHERNET, Fabric
from trainrig.model.offer import Offer


def fabric(offer: Offer, nodes: int, network: Mapping[str, str]) -> Fabric:  # noqa: ARG001
    card = family_table("aws")["efa"].get(offer.instance_type)
    if nodes < 2 or card is None:
        return ETHERNET
    return Fabric(kind="efa", cards=card["cards"] - card.get("first_efa_card", 0))
