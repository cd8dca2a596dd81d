"""Serves the provider to Terraform from inside our own process, attached with TF_REATTACH_PROVIDERS.

Nothing is installed, `terraform init` writes no lock file, and no plugin process starts. No signal handler is set:
after a Ctrl-C Terraform calls StopProvider and waits, and a create that is under way ends and gets into the state.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Every child process would otherwise make grpc print that it skips its fork handlers. Read when grpc is imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

import grpc
from tf.gen import grpc_controller_pb2, grpc_controller_pb2_grpc, grpc_stdio_pb2_grpc, tfplugin_pb2_grpc
from tf.provider import ProviderServicer

from trainrig.localcloud.provider import LocalProvider

WORKERS = 32  # Terraform creates ten resources at a time; a rig has nine
GRACE_SECONDS = 150  # for calls under way when the caller leaves


class _Controller(grpc_controller_pb2_grpc.GRPCControllerServicer):  # type: ignore[misc]
    def Shutdown(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802
        return grpc_controller_pb2.Empty()


class _Stdio(grpc_stdio_pb2_grpc.GRPCStdioServicer):  # type: ignore[misc]
    def StreamStdio(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: ARG002, N802
        return iter(())


@contextmanager
def serve() -> Iterator[Mapping[str, str]]:
    """Yields what Terraform's environment needs to find the provider.

    Leaving it waits for creates that are under way, also those of a Terraform that was killed: what they make is there
    to be swept afterwards, and nothing comes later.
    """
    provider = LocalProvider()
    workers = futures.ThreadPoolExecutor(WORKERS, thread_name_prefix="local-provider")
    server = grpc.server(workers)
    tfplugin_pb2_grpc.add_ProviderServicer_to_server(ProviderServicer(provider), server)
    grpc_controller_pb2_grpc.add_GRPCControllerServicer_to_server(_Controller(), server)
    grpc_stdio_pb2_grpc.add_GRPCStdioServicer_to_server(_Stdio(), server)
    # A socket's path may have about a hundred characters, and TMPDIR can be longer than that.
    with tempfile.TemporaryDirectory(prefix="trainrig-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        address = str(Path(folder) / "provider.sock")
        server.add_insecure_port(f"unix://{address}")  # the folder is ours alone
        server.start()
        attach = {
            provider.full_name(): {
                "Protocol": "grpc",
                "ProtocolVersion": 6,
                "Pid": os.getpid(),
                "Test": True,
                "Addr": {"Network": "unix", "String": address},
            }
        }
        try:
            yield {"TF_REATTACH_PROVIDERS": json.dumps(attach)}
        finally:
            server.stop(GRACE_SECONDS).wait()
            workers.shutdown()
            provider.close()
