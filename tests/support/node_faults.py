"""What can befall a node of the local cloud beside a preemption."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import docker

from trainrig.model.node import Node


def hang(client: docker.DockerClient, node: Node) -> None:
    """Every process of the node stands still; connections stay open and say nothing."""
    client.containers.get(node.instance_id).pause()


def wake(client: docker.DockerClient, node: Node) -> None:
    client.containers.get(node.instance_id).unpause()


def freeze(client: docker.DockerClient, node: Node) -> None:
    """The same, and nobody who asks about the node is told: each of its processes is stopped by a signal."""
    processes = client.containers.get(node.instance_id).top(ps_args="-eo pid")["Processes"]
    for (pid,) in processes:
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGSTOP)


def cut(client: docker.DockerClient, node: Node) -> None:
    """Takes the node off its network; it runs on, and nobody reaches it."""
    container = client.containers.get(node.instance_id)
    for name in container.attrs["NetworkSettings"]["Networks"]:
        client.networks.get(name).disconnect(container, force=True)
