"""The trainrig program as its users run it: another process, its own session, real signals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ARGV = [sys.executable, "-m", "trainrig"]


class Program:
    """Runs verbs in one TRAINRIG_HOME; `workdir` is where they are run."""

    def __init__(self, home: Path, workdir: Path) -> None:
        self.home = home
        self.workdir = workdir
        self._env = {**os.environ, "TRAINRIG_HOME": str(home)}

    def run(self, *words: str, timeout: float = 240, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*ARGV, *words],
            cwd=self.workdir,
            env={**self._env, **env},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start(self, *words: str) -> Started:
        log = self.workdir / f"{words[0]}.log"
        with log.open("w") as out:
            process = subprocess.Popen(
                [*ARGV, *words],
                cwd=self.workdir,
                env=self._env,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Started(process, log)


class Started:
    """A verb that runs; everything that it says is in one file."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def said(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, text: str, *, seconds: float = 120) -> None:
        """Until it has said `text`; fails when it ends before that."""
        wait_until(lambda: text in self.said or self.process.poll() is not None, seconds=seconds, what=text)
        assert text in self.said, f"it ended with {self.process.returncode} before it said {text!r}:\n{self.said}"

    def wait_until(self, condition: Callable[[], bool], *, what: str, seconds: float = 240) -> None:
        """Until something is so elsewhere; fails when it ends before that."""
        wait_until(lambda: condition() or self.process.poll() is not None, seconds=seconds, what=what)
        assert condition(), f"it ended with {self.process.returncode} before {what}:\n{self.said}"

    def wait(self, *, seconds: float = 120) -> int:
        return self.process.wait(seconds)


def wait_until(condition: Callable[[], bool], *, seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.1)


def last_document(text: str) -> dict[str, Any]:
    """The JSON object on the last line."""
    document = json.loads(text.splitlines()[-1])
    assert isinstance(document, dict)
    return document


def left_of(run_id: str) -> list[str]:
    """Containers, networks and volumes of a run that Docker still has."""
    found: list[str] = []
    for listing in (["ps", "-aq"], ["network", "ls", "-q"], ["volume", "ls", "-q"]):
        argv = ["docker", *listing, "--filter", f"label=trainrig-run-id={run_id}"]
        found += subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    return found
