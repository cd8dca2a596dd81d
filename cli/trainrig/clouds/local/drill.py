"""Takes a node away on purpose, as a cloud takes back spot capacity."""

from __future__ import annotations

from trainrig.clouds.base import Account
from trainrig.clouds.local.facts import FACTS
from trainrig.localcloud.engine import connect, doing
from trainrig.model.node import Node


def preempt(account: Account, node: Node, *, notice: bool) -> None:  # noqa: ARG001
    """With notice the node shuts down in order: SIGTERM reaches the job, which has the cloud's notice time to save.
    Without, its power is cut."""
    with connect() as engine, doing(f"drill {node.name}"):
        container = engine.client.containers.get(node.instance_id)
        if notice:
            container.stop(timeout=FACTS.preemption_notice_seconds)
        else:
            container.kill()
