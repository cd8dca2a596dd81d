"""The Terraform provider `trainrig/local`."""

from __future__ import annotations

import threading
from typing import Any

from tf.iface import Provider
from tf.schema import Schema

from trainrig.localcloud.engine import Engine, connect
from trainrig.localcloud.network import Network
from trainrig.localcloud.node import Node
from trainrig.localcloud.resource import DockerResource

HOST, NAMESPACE, TYPE = "terraform.local", "trainrig", "local"
ADDRESS = f"{HOST}/{NAMESPACE}/{TYPE}"
VERSION = "1.0.0"


class LocalProvider(Provider):  # type: ignore[misc]  # tf has no type information
    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def engine(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = connect()
            return self._engine

    def close(self) -> None:
        if self._engine is not None:
            self._engine.client.close()

    def get_model_prefix(self) -> str:
        return "trainrig_local_"

    def full_name(self) -> str:
        return ADDRESS

    def get_provider_schema(self, diags: Any) -> Schema:  # noqa: ARG002
        return Schema(attributes=[])

    def validate_config(self, diags: Any, config: Any) -> None:
        """There is no configuration."""

    def configure_provider(self, diags: Any, config: Any) -> None:
        """There is no configuration; Docker is first spoken to when a resource needs it."""

    def get_data_sources(self) -> list[Any]:
        return []

    def get_resources(self) -> list[type[DockerResource]]:
        return [Network, Node]
