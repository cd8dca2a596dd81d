"""After an apply: are the nodes what was planned? A rig is whole or it failed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainrig.clouds import registry
from trainrig.clouds.base import Resource
from trainrig.errors import RigError, TerraformFailed
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.reap import Place, look
from trainrig.model.node import Node
from trainrig.model.offer import Market, Offer
from trainrig.model.placement import Candidate
from trainrig.model.rig import RigIdentity
from trainrig.store.journal import Attempt

SEEN_AFTER_SECONDS = (0.0, 1.0, 4.0, 10.0)  # an inventory may show a new machine a little late


def nodes_of(outputs: Mapping[str, Any], candidate: Candidate) -> tuple[Node, ...]:
    """The nodes that a module's output names.

    Raises:
        TerraformFailed: not as many as were ordered, or the output is not what terraform/README.md says.
    """
    try:
        nodes = tuple(sorted((Node.from_output(n) for n in outputs["nodes"]), key=lambda n: n.rank))
    except (KeyError, TypeError, ValueError) as error:
        raise TerraformFailed(f"the module's output `nodes` is not as it should be: {error}") from error
    if [n.rank for n in nodes] != list(range(candidate.nodes)):
        raise TerraformFailed(f"{candidate.nodes} nodes were ordered, {len(nodes)} came up")
    return nodes


def missing(context: Context, identity: RigIdentity, attempt: Attempt) -> tuple[str, ...]:
    """Names of an attempt's nodes that the cloud does not show; none when it cannot be asked."""
    if not registry.has(attempt.cloud, "inventory"):
        return ()
    try:
        seen = {
            r.id
            for r in look(
                context, Place(cloud=attempt.cloud, regions=(attempt.region,), account=attempt.account), identity.run_id
            )
        }
    except RigError:
        return ()
    return tuple(n.name for n in attempt.node_list if n.instance_id not in seen)


def deviation(
    context: Context, identity: RigIdentity, candidate: Candidate, nodes: tuple[Node, ...], image: str | None
) -> str:
    """What the cloud shows otherwise than planned: a node or a disk without our labels, a node on another market or
    from another image; empty: nothing, or the cloud cannot be asked. `image` as the module got it."""
    offer = candidate.offer
    if not registry.has(offer.cloud, "inventory"):
        return ""
    place = Place(cloud=offer.cloud, regions=(offer.region,), account=candidate.account)
    bare: list[str] = []
    for delay in SEEN_AFTER_SECONDS:
        time.sleep(delay)
        try:
            seen = look(context, place, identity.run_id)
        except RigError:
            return ""
        machines = {r.id: r for r in seen if r.labelled}
        bare = list(_without_labels(nodes, machines))
        if not bare:
            return _other_market(offer, nodes, machines) or _other_image(seen, image)
    return f"the cloud shows no label of this rig on {', '.join(bare)}"


def _without_labels(nodes: Sequence[Node], labelled: Mapping[str, Resource]) -> Iterator[str]:
    """What would bill on unseen once its state or its machine is lost."""
    for node in nodes:
        machine = labelled.get(node.instance_id)
        if machine is None:
            yield node.name
        else:
            yield from (f"the disk {disk} of {node.name}" for disk in machine.disks if disk not in labelled)


def _other_market(offer: Offer, nodes: tuple[Node, ...], machines: Mapping[str, Resource]) -> str:
    for node in nodes:
        market = machines[node.instance_id].market
        # A reservation is bought on demand, as far as a machine can tell.
        if market is not None and (market is Market.SPOT) != (offer.market is Market.SPOT):
            return f"{node.name} came up on the {market} market, {offer.market} was ordered"
    return ""


def _other_image(seen: Sequence[Resource], image: str | None) -> str:
    """AWS shows an id; where the name of an image was ordered, Terraform itself has looked the id up."""
    for found in seen:
        comparable = found.image and image and found.image.startswith("ami-") == image.startswith("ami-")
        if comparable and found.image != image:
            return f"{found.name} came up from the image {found.image}, {image} was ordered"
    return ""
