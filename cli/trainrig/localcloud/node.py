"""`trainrig_local_node`: one node of a rig, a container that boots (machine.py)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tf.schema import Attribute, Schema
from tf.types import List, Map, Number, String

from trainrig.localcloud import hostkey, machine
from trainrig.localcloud.resource import SCHEMA_VERSION, DockerResource, State, computed, reported, wanted

COMPUTED = ("id", "private_ip", "ssh_port", "host_key")


class Node(DockerResource):
    @classmethod
    def get_name(cls) -> str:
        return "node"

    @classmethod
    def get_schema(cls) -> Schema:
        return Schema(
            version=SCHEMA_VERSION,
            attributes=[
                computed("id", String(), "Docker's id of the container"),
                wanted("name", String(), "its name, unique on this machine"),
                wanted("image", String(), "the node image"),
                wanted("network", String(), "the network's name"),
                wanted("cpus", Number(), "processors it may use; 0: all"),
                wanted("memory_mib", Number(), "memory it may use; 0: all"),
                wanted("gpu_ids", List(String()), "which of this machine's GPUs it gets"),
                wanted("ssh_public_key", String(), "who may log in"),
                Attribute("expires_at", String(), "RFC 3339; it powers itself off then", required=True),
                Attribute("labels", Map(String()), "Docker labels, given when it is made", required=True),
                # The configuration says "running" and read() says what is: a dead node is a difference that replaces
                # it. Were read() to call it gone, Terraform would forget a container that still exists.
                wanted("status", String(), 'the wanted state of the container: "running"'),
                computed("private_ip", String(), "where the other nodes reach it"),
                computed("ssh_port", Number(), "its sshd, published on 127.0.0.1"),
                computed("host_key", String(), "its SSH host key"),
            ],
        )

    def create(self, ctx: Any, planned: State) -> State | None:
        state = {**planned, **dict.fromkeys(COMPUTED)}
        with reported(ctx, f"node {planned['name']}"):
            key = hostkey.generate()
            state["id"] = machine.create(self.engine, _spec(planned), key)
            seen = machine.start(self.engine, state["id"], planned["name"])
            state |= {"host_key": key.public, "private_ip": seen.private_ip, "ssh_port": seen.ssh_port}
        # With an error and a state, Terraform marks the node as tainted and deletes it later.
        return state if state["id"] else None

    def read(self, ctx: Any, current: State) -> State | None:
        with reported(ctx, f"node {current['name']}"):
            seen = machine.observe(self.engine, current["id"])
            if seen is None:
                return None
            return {
                **current,
                "status": seen.status,
                "private_ip": seen.private_ip or current["private_ip"],
                "ssh_port": seen.ssh_port or current["ssh_port"],
            }
        return current

    def update(self, ctx: Any, current: State, planned: State) -> State:
        """Only the lease and the labels get here, and Docker cannot change labels."""
        with reported(ctx, f"node {current['name']}"):
            if planned["expires_at"] != current["expires_at"]:
                machine.extend(self.engine, current["id"], datetime.fromisoformat(planned["expires_at"]))
            return planned
        return current

    def delete(self, ctx: Any, current: State) -> State | None:
        with reported(ctx, f"node {current['name']}"):
            machine.remove(self.engine, current["id"], _spec(current).volume)
            return None
        return current


def _spec(state: State) -> machine.MachineSpec:
    return machine.MachineSpec(
        name=state["name"],
        image=state["image"],
        network=state["network"],
        labels=state["labels"],
        cpus=state["cpus"],
        memory_mib=state["memory_mib"],
        gpu_ids=tuple(state["gpu_ids"]),
        ssh_public_key=state["ssh_public_key"],
        expires_at=datetime.fromisoformat(state["expires_at"]),
    )
