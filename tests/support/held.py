"""Holds a rig's lock in another process, since a process that has it may take it again."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HOLD = """
import sys
from pathlib import Path
from trainrig.store import locks
with locks.hold(Path(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def held_elsewhere(directory: Path, verb: str) -> Iterator[subprocess.Popen[str]]:
    """The process that holds it; it is killed at the end."""
    argv = [sys.executable, "-c", HOLD, str(directory), verb]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        assert other.stdout.readline() == "held\n"
        try:
            yield other
        finally:
            other.kill()
