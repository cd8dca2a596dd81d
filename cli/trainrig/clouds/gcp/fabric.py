"""Which Google machines have GPU networks between them: the table that the Terraform module makes them from."""

from __future__ import annotations

from collections.abc import Mapping

from trainrig.clouds.families import family_table
from trainrig.model.fabric import ETHERNET, Fabric
from trainrig.model.offer import Offer


def fabric(offer: Offer, nodes: int, network: Mapping[str, str]) -> Fabric:  # noqa: ARG001
    row = family_table("gcp")["fabric"].get(offer.instance_type)
    if nodes < 2 or row is None:
        return ETHERNET
    if row["rdma"]:
        return Fabric(kind="roce", cards=row["rdma"])
    return Fabric(kind="gvnic", cards=row["gvnic"] + 1)  # the first card of the machine is one, too
