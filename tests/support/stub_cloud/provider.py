"""Serves the provider: in our process, or, with STUB_PROCESS, in one of its own that can be killed."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent import futures
from pathlib import Path
from typing import Any

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

import grpc
from tf.gen import grpc_controller_pb2, grpc_controller_pb2_grpc, grpc_stdio_pb2_grpc, tfplugin_pb2_grpc
from tf.provider import ProviderServicer

from support.stub_cloud.terraform_provider import StubProvider


class _Controller(grpc_controller_pb2_grpc.GRPCControllerServicer):  # type: ignore[misc]
    def Shutdown(self, request: Any, context: Any) -> Any:  # noqa: N802
        return grpc_controller_pb2.Empty()


class _Stdio(grpc_stdio_pb2_grpc.GRPCStdioServicer):  # type: ignore[misc]
    def StreamStdio(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802
        return iter(())


@contextlib.contextmanager
def serve() -> Iterator[Mapping[str, str]]:
    if os.environ.get("STUB_PROCESS"):
        with _process() as address:
            yield _attach(address, 0)
        return
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, _server(f"{folder}/stub.sock") as address:
        yield _attach(address, os.getpid())


@contextlib.contextmanager
def _server(address: str) -> Iterator[str]:
    server = grpc.server(futures.ThreadPoolExecutor(16))
    tfplugin_pb2_grpc.add_ProviderServicer_to_server(ProviderServicer(StubProvider()), server)
    grpc_controller_pb2_grpc.add_GRPCControllerServicer_to_server(_Controller(), server)
    grpc_stdio_pb2_grpc.add_GRPCStdioServicer_to_server(_Stdio(), server)
    server.add_insecure_port(f"unix://{address}")
    server.start()
    try:
        yield address
    finally:
        server.stop(30).wait()


@contextlib.contextmanager
def _process() -> Iterator[str]:
    """A provider that outlives us, as real ones do; its process id is in the cloud's folder."""
    address = tempfile.mkdtemp(dir="/tmp") + "/stub.sock"
    with subprocess.Popen(
        [sys.executable, "-m", "support.stub_cloud.provider", address], stdout=subprocess.PIPE, start_new_session=True
    ) as child:
        assert child.stdout
        child.stdout.readline()
        (Path(os.environ["STUB_CLOUD"]) / "provider.pid").write_text(str(child.pid))
        try:
            yield address
        finally:
            child.terminate()


def _attach(address: str, pid: int) -> dict[str, str]:
    socket = {"Network": "unix", "String": address}
    provider = {"Protocol": "grpc", "ProtocolVersion": 6, "Pid": pid, "Test": True, "Addr": socket}
    return {"TF_REATTACH_PROVIDERS": json.dumps({StubProvider().full_name(): provider})}


def lay_plugin(root: Path) -> None:
    """The stub is only ever attached."""


if __name__ == "__main__":
    import time

    with _server(sys.argv[1]):
        print("ready", flush=True)
        time.sleep(120)
