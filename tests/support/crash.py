"""Starts a verb on the stub cloud, waits until it is at a step, hurts something, and says what is left."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import rigs
from support.stub_rigs import PLUGINS

HERE = Path(__file__).parent
# Where a verb can be hit. The words before a colon are steps of terraform_at.sh; those in the middle of a create or a
# delete are slow calls of the cloud itself.
APPLY_STEPS = ("init", "plan", "apply", "creating", "after-apply")
DESTROY_STEPS = ("destroy", "deleting", "after-destroy")
PATIENCE_SECONDS = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """One machine with its home, and the cloud."""

    home: Path
    cloud: Path
    env: dict[str, str]

    def start(self, verb: str, **env: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "support.stub_driver", verb],
            env={**self.env, **env},
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def wait_for_step(self, step: str, driver: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until and driver.poll() is None:
            if step in {"creating", "deleting"}:
                if self.in_call():
                    return
            elif (self.cloud / "at-step").exists():
                return
            time.sleep(0.01)
        pytest.fail(f"{step} was not reached")

    def in_call(self) -> bool:
        """Whether the cloud is in the middle of a slow call."""
        return any(self.cloud.glob("slow-*"))

    def terraform(self) -> list[int]:
        """Process ids of this site's Terraform commands, wrapper included."""
        return [p for p, words in self._processes() if any(Path(w).name == "terraform" for w in words[:2])]

    def providers(self) -> list[int]:
        return [p for p, words in self._processes() if "support.stub_cloud.provider" in words]

    def settle(self) -> None:
        """Ends what a crash has left running, as a reboot would, once calls to the cloud are over."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self.in_call() and time.monotonic() < until and self.providers():
            time.sleep(0.05)

    def end(self) -> None:
        for pid in (*self.terraform(), *self.providers()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _processes(self) -> Iterator[tuple[int, list[str]]]:
        """Those whose environment names this cloud."""
        mark = f"STUB_CLOUD={self.cloud}".encode()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    words = (folder / "cmdline").read_bytes().decode().rstrip("\0").split("\0")
                    if words != [""]:
                        yield int(folder.name), words
            except OSError:
                continue


def site(tmp_path: Path) -> Site:
    cloud, bin_folder = tmp_path / "cloud", tmp_path / "bin"
    bin_folder.mkdir()
    real = shutil.which("terraform")
    assert real
    shutil.copy(HERE / "terraform_at.sh", bin_folder / "terraform")
    cli = HERE.parents[1] / "cli"
    env = {
        **os.environ,
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(map(str, (cli, HERE.parent, PLUGINS))),
        "REAL_TERRAFORM": real,
        "STUB_CLOUD": str(cloud),
        "TRAINRIG_HOME": str(tmp_path / "trainrig-home"),
        "TRAINRIG_CACHE": str(tmp_path / "cache"),
    }
    env.pop("TF_CLI_CONFIG_FILE", None)
    return Site(home=tmp_path / "trainrig-home", cloud=cloud, env=env)


RUN = rigs.identity().run_id
