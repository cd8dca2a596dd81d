"""Serves stand-ins of the cloud providers to a real Terraform, all from this process.

    with serve(tmp_path / "cloud") as env:
        subprocess.run(["terraform", "apply", ...], env={**os.environ, **env})

A stand-in proves that HCL is valid against today's genuine schemas, that the graph, outputs, state, locks, retries
and teardown work, and what Terraform does when a provider answers badly. It does not prove a cloud: not that a type is
sold, an image boots, a policy suffices or a rule opens a port; not defaults, validators or conflicts inside the real
providers beyond the table of rules.py; and values that a cloud computes are made up.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from concurrent import futures
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc
from tf.gen import grpc_controller_pb2 as controller_pb
from tf.gen import grpc_controller_pb2_grpc as controller_rpc
from tf.gen import grpc_stdio_pb2_grpc as stdio_rpc
from tf.gen import tfplugin_pb2_grpc as rpc

from support.standin import schemas
from support.standin.cloud import FakeCloud
from support.standin.provider import StandIn
from trainrig import assets

PROVIDERS = ("aws", "google", "azurerm", "nebius")
NAMESPACE = {"nebius": "nebius"}  # of the others: hashicorp
_TYPE = re.compile(r'^\s*(resource|data) "([a-z]+)_([a-z0-9_]+)"', re.MULTILINE)


@contextmanager
def serve(folder: Path, providers: Iterable[str] = PROVIDERS, *, extra: Iterable[str] = ()) -> Iterator[dict[str, str]]:
    """Yields the environment that makes Terraform use the stand-ins; their cloud is `FakeCloud(folder)`.

    They know the types that terraform/ uses, and the resource types in `extra`.
    """
    cloud = FakeCloud(folder)
    with ExitStack() as stack:
        reattach = {}
        for provider in providers:
            resources, data_sources = types_in(assets.path("terraform"), provider)
            resources |= {name for name in extra if name.startswith(f"{provider}_")}
            known = schemas.load(provider, resources=sorted(resources), data_sources=sorted(data_sources))
            socket = stack.enter_context(_served(StandIn(cloud, known)))
            reattach[f"registry.terraform.io/{NAMESPACE.get(provider, 'hashicorp')}/{provider}"] = {
                "Protocol": "grpc",
                "ProtocolVersion": 6,
                "Pid": os.getpid(),
                "Test": True,  # Terraform leaves it running
                "Addr": {"Network": "unix", "String": socket},
            }
        yield {"TF_REATTACH_PROVIDERS": json.dumps(reattach), "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}


def types_in(folder: Path, provider: str) -> tuple[set[str], set[str]]:
    """The resource types and the data source types of a provider that HCL in a folder names."""
    found: dict[str, set[str]] = {"resource": set(), "data": set()}
    for path in [*folder.rglob("*.tf"), *folder.rglob("*.tftest.hcl")]:
        for kind, owner, rest in _TYPE.findall(path.read_text(encoding="utf-8")):
            if owner == provider:
                found[kind].add(f"{owner}_{rest}")
    return found["resource"], found["data"]


@contextmanager
def _served(servicer: StandIn) -> Iterator[str]:
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=32))
    rpc.add_ProviderServicer_to_server(servicer, server)
    controller_rpc.add_GRPCControllerServicer_to_server(_Controller(), server)
    stdio_rpc.add_GRPCStdioServicer_to_server(_Stdio(), server)
    # Not under a test's own folder: the path of a Unix socket has at most 107 characters.
    with tempfile.TemporaryDirectory(prefix="standin-") as short:
        socket = f"{short}/s"
        server.add_insecure_port(f"unix://{socket}")
        server.start()
        try:
            yield socket
        finally:
            server.stop(grace=None).wait()


class _Controller(controller_rpc.GRPCControllerServicer):  # type: ignore[misc]
    def Shutdown(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        return controller_pb.Empty()


class _Stdio(stdio_rpc.GRPCStdioServicer):  # type: ignore[misc]
    def StreamStdio(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:  # noqa: N802
        return iter(())
