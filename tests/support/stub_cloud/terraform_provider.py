"""The Terraform provider of the stub cloud."""

from __future__ import annotations

from typing import Any

from tf.iface import Provider, Resource
from tf.schema import Attribute, Schema
from tf.types import Map, Number, String

from support.stub_cloud import objects

State = dict[str, Any]


class StubResource(Resource):  # type: ignore[misc]
    def __init__(self, provider: Any) -> None:
        self.kind = f"stub_{self.get_name()}"

    def create(self, ctx: Any, planned: State) -> State | None:
        wanted = {k: v for k, v in planned.items() if k != "id"}
        try:
            return {**planned, "id": objects.create(self.kind, wanted)["id"]}
        except objects.StubError as error:
            words, made = error.args
            ctx.diagnostics.add_error(words, "said the stub cloud")
            return None if made is None else {**planned, "id": made["id"]}

    def read(self, ctx: Any, current: State) -> State | None:
        found = objects.get(current["id"])
        return None if found is None else {k: found[k] for k in current}

    def update(self, ctx: Any, current: State, planned: State) -> State:
        objects.update(current["id"], planned)
        return planned

    def delete(self, ctx: Any, current: State) -> State | None:
        try:
            objects.delete(current["id"])
        except objects.StubError as error:
            ctx.diagnostics.add_error(error.args[0], "said the stub cloud")
            return current
        return None


def wanted(name: str, kind: Any = None) -> Attribute:
    return Attribute(name, kind or String(), "", required=True, requires_replace=name != "labels")


class Network(StubResource):
    @classmethod
    def get_name(cls) -> str:
        return "network"

    @classmethod
    def get_schema(cls) -> Schema:
        return Schema(
            attributes=[Attribute("id", String(), "", computed=True), wanted("name"), wanted("labels", Map(String()))]
        )


class Node(StubResource):
    @classmethod
    def get_name(cls) -> str:
        return "node"

    @classmethod
    def get_schema(cls) -> Schema:
        return Schema(
            attributes=[
                Attribute("id", String(), "", computed=True),
                *(wanted(n) for n in ("name", "zone", "market", "network")),
                wanted("rank", Number()),
                wanted("labels", Map(String())),
            ]
        )


class StubProvider(Provider):  # type: ignore[misc]
    def get_model_prefix(self) -> str:
        return "stub_"

    def full_name(self) -> str:
        return "terraform.local/tests/stub"

    def get_provider_schema(self, diags: Any) -> Schema:
        return Schema(attributes=[])

    def validate_config(self, diags: Any, config: Any) -> None: ...

    def configure_provider(self, diags: Any, config: Any) -> None: ...

    def get_data_sources(self) -> list[Any]:
        return []

    def get_resources(self) -> list[type[StubResource]]:
        return [Network, Node]
