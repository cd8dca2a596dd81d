"""What is on this machine with our labels, whatever Terraform's state says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from docker.errors import NotFound

from trainrig.clouds.base import Account, Resource
from trainrig.errors import UsageError
from trainrig.localcloud import machine, network
from trainrig.localcloud.engine import EXPIRES_LABEL, RUN_ID_LABEL, Engine, connect, doing
from trainrig.model.rig import MANAGED_BY


def find(account: Account, run_id: str | None = None) -> Iterator[Resource]:  # noqa: ARG001
    """Containers first: they hold the networks and volumes."""
    filters = {"label": [f"managed-by={MANAGED_BY}", f"{RUN_ID_LABEL}={run_id}" if run_id else RUN_ID_LABEL]}
    with connect() as engine, doing("look for resources"):
        found = [*_containers(engine, filters), *_networks(engine, filters), *_volumes(engine, filters)]
    # A lease is extended in the nodes alone, so they speak for the network and the volumes of their run.
    ends: dict[str | None, datetime] = {}
    for resource in found:
        if resource.type == "container" and resource.expires_at:
            ends[resource.run_id] = max(ends.get(resource.run_id, resource.expires_at), resource.expires_at)
    for resource in found:
        yield replace(resource, expires_at=ends.get(resource.run_id, resource.expires_at))


def delete(account: Account, resource: Resource) -> None:  # noqa: ARG001
    with connect() as engine:
        match resource.type:
            case "container":
                machine.remove_container(engine, resource.id)
            case "network":
                network.remove(engine, resource.id)
            case "volume":
                machine.remove_volume(engine, resource.id)
            case other:
                raise UsageError(f"local has no resource of type {other!r}")


def _containers(engine: Engine, filters: dict[str, Any]) -> Iterator[Resource]:
    for container in engine.client.containers.list(all=True, filters=filters, ignore_removed=True):
        seen = _resource("container", str(container.id), str(container.name), container.labels)
        try:
            end = machine.lease_end(container)
        except NotFound:
            continue
        yield replace(seen, expires_at=end or seen.expires_at, image=container.attrs["Config"]["Image"])


def _networks(engine: Engine, filters: dict[str, Any]) -> Iterator[Resource]:
    for item in engine.client.networks.list(filters=filters):
        yield _resource("network", str(item.id), str(item.name), item.attrs["Labels"])


def _volumes(engine: Engine, filters: dict[str, Any]) -> Iterator[Resource]:
    for item in engine.client.volumes.list(filters=filters):
        yield _resource("volume", str(item.name), str(item.name), item.attrs["Labels"])


def _resource(kind: str, ident: str, name: str, labels: dict[str, str]) -> Resource:
    expires = labels.get(EXPIRES_LABEL, "")
    return Resource(
        cloud="local",
        region="local",
        type=kind,
        id=ident,
        name=name,
        run_id=labels.get(RUN_ID_LABEL),
        expires_at=datetime.fromtimestamp(int(expires), UTC) if expires.isdigit() else None,
    )
