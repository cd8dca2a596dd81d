"""A Terraform provider that knows schemas, the fake cloud and a few hand-written rules, and no vendor's code."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

import grpc
from tf.gen import tfplugin_pb2 as pb
from tf.gen import tfplugin_pb2_grpc as rpc
from tf.types import Unknown

from support.standin import objects, rules, wire
from support.standin.cloud import FakeCloud, Fault


class StandIn(rpc.ProviderServicer):  # type: ignore[misc]
    """Terraform's side of the protocol; methods carry its names."""

    def __init__(self, cloud: FakeCloud, schemas: Mapping[str, Any]) -> None:
        self.cloud = cloud
        self.schemas = schemas
        self.settings: dict[str, Any] = {}
        self.interrupted = threading.Event()
        self._described = pb.GetProviderSchema.Response(
            provider=wire.schema(schemas["provider"]),
            resource_schemas={n: wire.schema(s) for n, s in schemas["resource_schemas"].items()},
            data_source_schemas={n: wire.schema(s) for n, s in schemas["data_source_schemas"].items()},
            server_capabilities=pb.ServerCapabilities(plan_destroy=True, get_provider_schema_optional=True),
        )

    def GetProviderSchema(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        return self._described

    def ValidateProviderConfig(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        return pb.ValidateProviderConfig.Response()

    def ValidateResourceConfig(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        return pb.ValidateResourceConfig.Response()

    def ValidateDataResourceConfig(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        return pb.ValidateDataResourceConfig.Response()

    def ConfigureProvider(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        self.settings = wire.known(wire.read(request.config)) or {}
        self.interrupted.clear()
        fault = self.cloud.log("configure", "provider", "")
        return pb.ConfigureProvider.Response(diagnostics=_diagnostics(fault))

    def StopProvider(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        # A well-behaved provider finishes the calls in flight; only faults marked `rude` look at this.
        self.interrupted.set()
        return pb.StopProvider.Response()

    def UpgradeResourceState(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        state = wire.rebuild(self._block(request.type_name), json.loads(request.raw_state.json), lambda _n, _a, v: v)
        return pb.UpgradeResourceState.Response(upgraded_state=wire.write(state))

    def ReadResource(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        state = wire.read(request.current_state)
        if fault := self.cloud.log("read", request.type_name, objects.name_of(state), state["id"]):
            return pb.ReadResource.Response(new_state=request.current_state, diagnostics=_diagnostics(fault))
        found = self.cloud.get(request.type_name, state["id"])
        return pb.ReadResource.Response(new_state=wire.write(found), private=request.private)

    def PlanResourceChange(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        prior, proposed = wire.read(request.prior_state), wire.read(request.proposed_new_state)
        type_ = request.type_name
        if proposed is None:
            return pb.PlanResourceChange.Response(planned_state=wire.write(None))
        fault = self.cloud.log("plan", type_, objects.name_of(proposed))
        broken = [
            wire.error(message, *path) for path, message in rules.check(type_, wire.known(wire.read(request.config)))
        ]
        if fault or broken:
            return pb.PlanResourceChange.Response(diagnostics=[*_diagnostics(fault), *broken])
        planned = proposed if prior else wire.rebuild(self._block(type_), proposed, _unknown_if_computed)
        objects.derive(planned)
        replace = rules.replaced(type_, prior, planned) if prior else ()
        return pb.PlanResourceChange.Response(
            planned_state=wire.write(planned),
            requires_replace=[wire.attribute_path(name) for name in replace],
            legacy_type_system=True,  # as the SDK of these three providers says, so that core is as lenient with us
        )

    def ApplyResourceChange(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        prior, planned = wire.read(request.prior_state), wire.read(request.planned_state)
        if planned is None:
            return self._delete(request, prior)
        if prior is None:
            return self._create(request.type_name, planned)
        fault = self.cloud.log("update", request.type_name, objects.name_of(planned), prior["id"])
        state = self._complete(request.type_name, planned)
        if fault and fault.error:
            return _applied(prior, _diagnostics(fault))
        self.cloud.put(request.type_name, state["id"], state)
        return _applied(state)

    def ImportResourceState(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        state = self.cloud.get(request.type_name, request.id)
        if state is None:
            gone = wire.error(f"Cannot import non-existent remote object {request.id}")
            return pb.ImportResourceState.Response(diagnostics=[gone])
        found = pb.ImportResourceState.ImportedResource(type_name=request.type_name, state=wire.write(state))
        return pb.ImportResourceState.Response(imported_resources=[found])

    def ReadDataSource(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        config = wire.read(request.config)
        fault = self.cloud.log("data", request.type_name, objects.name_of(config))
        block = self.schemas["data_source_schemas"][request.type_name]["block"]
        state = wire.rebuild(block, config, _unknown_if_computed) | {"id": objects.answer_id(config)}
        return pb.ReadDataSource.Response(
            state=wire.write(objects.complete(request.type_name, block, state, self.cloud)),
            diagnostics=_diagnostics(fault),
        )

    def _create(self, type_: str, planned: dict[str, Any]) -> Any:
        state = self._complete(type_, planned)
        fault = self.cloud.log("create", type_, objects.name_of(state), state["id"])
        if self.cloud.get(type_, state["id"]) is not None:
            return _applied(None, [wire.error(objects.already_exists(type_, state["id"]))])
        if fault and fault.error and fault.leaves == "nothing":
            time.sleep(fault.seconds)
            return _applied(None, _diagnostics(fault))
        if fault and fault.makes:
            state |= {block: [{**state[block][0], **values}] for block, values in fault.makes.items()}
        self.cloud.put(type_, state["id"], state)
        if fault is None:
            return _applied(state)
        if self._wait(fault):
            return _applied(None, [wire.error("context canceled")])
        return _applied(None if fault.leaves == "orphan" else state, _diagnostics(fault))

    def _delete(self, request: Any, prior: dict[str, Any]) -> Any:
        fault = self.cloud.log("delete", request.type_name, objects.name_of(prior), prior["id"])
        if fault:
            time.sleep(fault.seconds)
        blockers = objects.blockers(request.type_name, prior, self.cloud, self.settings)
        problems = [*_diagnostics(fault), *map(wire.error, blockers)]
        if problems:
            return _applied(prior, problems)
        objects.delete(request.type_name, prior, self.cloud)
        return _applied(None)

    def _wait(self, fault: Fault) -> bool:
        """Takes the fault's time; True when the call was dropped instead."""
        if fault.rude:
            return self.interrupted.wait(fault.seconds)
        time.sleep(fault.seconds)
        return False

    def _complete(self, type_: str, planned: dict[str, Any]) -> dict[str, Any]:
        return objects.complete(type_, self._block(type_), planned, self.cloud)

    def _block(self, type_: str) -> wire.Block:
        block: wire.Block = self.schemas["resource_schemas"][type_]["block"]
        return block


def _unknown_if_computed(_name: str, attribute: Mapping[str, Any], value: Any) -> Any:
    return Unknown if value is None and attribute.get("computed") else value


def _diagnostics(fault: Fault | None) -> list[pb.Diagnostic]:
    return [wire.error(fault.error)] if fault and fault.error else []


def _applied(state: dict[str, Any] | None, diagnostics: Iterable[pb.Diagnostic] = ()) -> Any:
    return pb.ApplyResourceChange.Response(
        new_state=wire.write(state), diagnostics=list(diagnostics), legacy_type_system=True
    )
