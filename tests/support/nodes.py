"""Nodes of the local cloud without Terraform: booted, with SSH, and removed with all that was theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from trainrig.clouds import registry
from trainrig.localcloud import engine, hostkey, machine
from trainrig.model.events import silent
from trainrig.model.node import Node
from trainrig.model.rig import new_run_id
from trainrig.tools import proc, ssh

NETWORK = "bridge"


@contextmanager
def booted(rig: Path, count: int = 1, *, devices: Sequence[str] = (), image: str = "") -> Iterator[tuple[Node, ...]]:
    """`count` nodes that the key in `rig` opens, of another `image` than the local cloud's if one is given; they see
    this machine's `devices`."""
    registry.prepare("local").prepare(proc.run, silent)
    docker = engine.connect()
    run_id = new_run_id()
    image = image or registry.built_images("local").machine()
    specs = [_spec(run_id, rank, ssh.make_key(rig), image) for rank in range(count)]
    nodes: list[Node] = []
    try:
        for rank, spec in enumerate(specs):
            key = hostkey.generate()
            with _with_devices(devices):
                container = machine.create(docker, spec, key)
            seen = machine.start(docker, container, spec.name)
            assert seen.private_ip
            assert seen.ssh_port
            nodes.append(
                Node(
                    rank=rank,
                    name=spec.name,
                    public_ip=machine.LOOPBACK,
                    private_ip=seen.private_ip,
                    instance_id=container,
                    ssh_user=registry.facts("local").default_ssh_user,
                    ssh_port=seen.ssh_port,
                    host_key=key.public,
                )
            )
        yield tuple(nodes)
    finally:
        for spec in specs:
            machine.remove(docker, spec.name, spec.volume)


@contextmanager
def _with_devices(devices: Sequence[str]) -> Iterator[None]:
    flags = machine.flags

    def more(*args: Any) -> dict[str, Any]:
        found = flags(*args)
        return {**found, "devices": [*found["devices"], *devices]}

    with mock.patch.object(machine, "flags", more):
        yield


def gateway(node: Node) -> str:
    """This machine's address as a node sees it."""
    container = engine.connect().client.containers.get(node.instance_id)
    return str(container.attrs["NetworkSettings"]["Networks"][NETWORK]["Gateway"])


def _spec(run_id: str, rank: int, public_key: str, image: str) -> machine.MachineSpec:
    return machine.MachineSpec(
        name=f"tr-nodes-{run_id}-{rank}",
        image=image,
        network=NETWORK,
        labels={"managed-by": "trainrig", engine.RUN_ID_LABEL: run_id},
        cpus=0,
        memory_mib=0,
        gpu_ids=(),
        ssh_public_key=public_key,
        expires_at=datetime.now(UTC) + timedelta(hours=1),
    )
