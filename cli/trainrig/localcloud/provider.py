"""The Terraform provider `trainrig/local`."""

from __future__ import annotations

from functools import cached_property
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
    @cached_property
    def _engine(self) -> Engine:
        return connect()

    def engine(self) -> Engine:
        return self._engine

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
