"""Serves the provider: in our process, or, with STUB_PLUGIN, as a plugin that Terraform starts, as real ones are."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import threading
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
    if os.environ.get("STUB_PLUGIN"):
        yield {}
        return
    pool = futures.ThreadPoolExecutor(16)
    server = grpc.server(pool)
    tfplugin_pb2_grpc.add_ProviderServicer_to_server(ProviderServicer(StubProvider()), server)
    grpc_controller_pb2_grpc.add_GRPCControllerServicer_to_server(_Controller(), server)
    grpc_stdio_pb2_grpc.add_GRPCStdioServicer_to_server(_Stdio(), server)
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        address = f"{folder}/stub.sock"
        server.add_insecure_port(f"unix://{address}")
        server.start()
        socket = {"Network": "unix", "String": address}
        attach = {"Protocol": "grpc", "ProtocolVersion": 6, "Pid": os.getpid(), "Test": True, "Addr": socket}
        try:
            yield {"TF_REATTACH_PROVIDERS": json.dumps({StubProvider().full_name(): attach})}
        finally:
            server.stop(30).wait()
            pool.shutdown()  # a call whose Terraform was killed is over for gRPC, and goes on in its thread


def lay_plugin(root: Path) -> None:
    """Lets Terraform start the provider itself. It outlives a killed Terraform, as real ones do."""
    folder = root / "terraform.d/plugins/terraform.local/tests/stub/1.0.0/linux_amd64"
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "terraform-provider-stub_v1.0.0"
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -m support.stub_cloud.provider\n")
    script.chmod(0o755)


def _stop_on_shutdown_only(self: Any, continuation: Any, details: Any) -> Any:
    # Leaving the server's loop here races with the answer to this very call, and Terraform waits for it for ever.
    if details.method == "/plugin.GRPCController/Shutdown":
        threading.Timer(0.1, os._exit, [0]).start()
    return continuation(details)


if __name__ == "__main__":
    import signal

    from tf import runner

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    runner._ShutdownInterceptor.intercept_service = _stop_on_shutdown_only
    runner.run_provider(StubProvider())
