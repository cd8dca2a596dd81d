"""`trainrig_local_network`: the private network of one rig, a Docker bridge."""

from __future__ import annotations

from typing import Any

from docker.errors import APIError, NotFound
from docker.models.networks import Network as DockerNetwork
from docker.types import IPAMConfig, IPAMPool
from tf.schema import Attribute, Schema
from tf.types import Map, String

from trainrig.localcloud.engine import RUN_ID_LABEL, Engine, doing
from trainrig.localcloud.resource import SCHEMA_VERSION, DockerResource, State, computed, reported, wanted


class Network(DockerResource):
    @classmethod
    def get_name(cls) -> str:
        return "network"

    @classmethod
    def get_schema(cls) -> Schema:
        return Schema(
            version=SCHEMA_VERSION,
            attributes=[
                computed("id", String(), "Docker's id"),
                wanted("name", String(), "its name, unique on this machine"),
                Attribute("labels", Map(String()), "Docker labels, given when it is made", required=True),
                Attribute(
                    "subnet",
                    String(),
                    "an IPv4 range; Docker chooses one when it is left out",
                    optional=True,
                    computed=True,
                    requires_replace=True,
                ),
            ],
        )

    def create(self, ctx: Any, planned: State) -> State | None:
        subnet = planned["subnet"] if isinstance(planned["subnet"], str) else None
        with reported(ctx, f"network {planned['name']}"), doing("docker network create"):
            network = create(self.engine, planned["name"], planned["labels"], subnet)
            network.reload()
            return {**planned, "id": network.id, "subnet": network.attrs["IPAM"]["Config"][0]["Subnet"]}
        return None

    def read(self, ctx: Any, current: State) -> State | None:
        with reported(ctx, f"network {current['name']}"), doing("docker network inspect"):
            try:
                self.engine.client.networks.get(current["id"])
            except NotFound:
                return None
        return current

    def update(self, ctx: Any, current: State, planned: State) -> State:  # noqa: ARG002
        # Docker cannot change labels. They matter only for sweeping, and the lease lies with the nodes.
        return planned

    def delete(self, ctx: Any, current: State) -> State | None:
        with reported(ctx, f"network {current['name']}"):
            remove(self.engine, current["id"])
            return None
        return current


def create(engine: Engine, name: str, labels: dict[str, str], subnet: str | None) -> DockerNetwork:
    """Makes the network, or takes the one that a killed apply of the same run left."""
    try:
        return engine.client.networks.create(
            name,
            driver="bridge",
            labels=labels,
            check_duplicate=True,
            ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=subnet)]) if subnet else None,
        )
    except APIError as error:
        if error.status_code != 409:
            raise
        for found in engine.client.networks.list(names=[name], filters={"label": _mark(labels)}):
            if found.name == name:
                return found
        raise


def _mark(labels: dict[str, str]) -> str:
    return f"{RUN_ID_LABEL}={labels.get(RUN_ID_LABEL, '')}"


def remove(engine: Engine, network_id: str) -> None:
    """Removes the network, cutting off whatever is still on it; already gone is fine."""
    with doing(f"remove network {network_id[:12]}"):
        try:
            network = engine.client.networks.get(network_id)
            for container in network.containers:
                network.disconnect(container, force=True)
            network.remove()
        except NotFound:
            pass
