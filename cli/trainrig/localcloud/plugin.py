"""The same provider as a plugin, for plain `terraform` in a rendered folder."""

from __future__ import annotations

import os
import platform
import shlex
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from trainrig.localcloud.provider import ADDRESS, TYPE, VERSION, LocalProvider

PACKAGES = Path(__file__).resolve().parents[2]
PARENT_CHECK_SECONDS = 0.5
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def lay_plugin(root: Path) -> Path:
    """Writes the plugin where Terraform looks without any configuration; returns the script.

    `root/terraform.d/plugins/<address>/<version>/<os>_<arch>/terraform-provider-local_v<version>`
    """
    target = f"{platform.system().lower()}_{ARCHITECTURES.get(platform.machine(), platform.machine())}"
    folder = root / "terraform.d" / "plugins" / ADDRESS / VERSION / target
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / f"terraform-provider-{TYPE}_v{VERSION}"
    script.write_text(script_text(sys.executable, str(PACKAGES)), encoding="utf-8")
    script.chmod(0o755)
    return script


def script_text(interpreter: str, packages: str) -> str:
    """A shell script, since a `#!` line takes no path with a space and no long one."""
    code = f"import sys; sys.path.append({packages!r}); from trainrig.localcloud.plugin import main; main()"
    return f"#!/bin/sh\nexec {shlex.quote(interpreter)} -c {shlex.quote(code)}\n"


def main() -> None:
    """Serves one Terraform command. Finishes what it is doing when Terraform is interrupted, and ends with it."""
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    from tf import runner

    # A terminal sends Ctrl-C to the whole process group. Terraform waits for the call that is under way, so must we.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    runner._ShutdownInterceptor.intercept_service = _stop_on_shutdown_only  # noqa: SLF001
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    runner.run_provider(LocalProvider())


def _stop_on_shutdown_only(self: Any, continuation: Any, details: Any) -> Any:
    """tf 1.2.0 also stops on StopProvider, which Terraform sends at the first Ctrl-C while it still waits."""
    result = continuation(details)
    if details.method == "/plugin.GRPCController/Shutdown":
        self.stopped = True
    return result


def _end_with(parent: int) -> None:
    """A killed Terraform tells its plugin nothing; a new parent does."""
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_SECONDS)
    os._exit(1)
