"""Takes a node away on purpose, as a cloud would: with notice, without, by a hang or by a cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from docker.models.containers import Container

from trainrig.clouds.base import Account
from trainrig.clouds.local.facts import FACTS
from trainrig.localcloud.engine import connect, doing
from trainrig.model.node import Node


def preempt(account: Account, node: Node, *, notice: bool) -> None:  # noqa: ARG001
    """With notice the node shuts down in order: SIGTERM reaches the job, which has the cloud's notice time to save.
    Without, its power is cut."""
    with _container(node) as container:
        if notice:
            container.stop(timeout=FACTS.preemption_notice_seconds)
        else:
            container.kill()


def hang(node: Node) -> None:
    """Every process of the node stands still; connections stay open and say nothing."""
    with _container(node) as container:
        container.pause()


def wake(node: Node) -> None:
    with _container(node) as container:
        container.unpause()


def cut(node: Node) -> None:
    """Takes the node off its network; it runs on, and nobody reaches it."""
    with connect() as engine, doing(f"drill {node.name}"):
        container = engine.client.containers.get(node.instance_id)
        for name in container.attrs["NetworkSettings"]["Networks"]:
            engine.client.networks.get(name).disconnect(container, force=True)


@contextmanager
def _container(node: Node) -> Iterator[Container]:
    with connect() as engine, doing(f"drill {node.name}"):
        yield engine.client.containers.get(node.instance_id)
