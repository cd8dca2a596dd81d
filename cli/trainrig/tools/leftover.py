"""A Terraform that outlived the trainrig that started it: known by a note in its root, ended as gently as any other.

The note holds the process's start time, so that a recycled process id is never taken for it, and whether it has had its
one SIGINT already.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from trainrig.model.process import Command
from trainrig.tools import proc

NOTE = "terraform.pid.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    pid: int
    started: str  # opaque; equal for the same process only
    interrupted: bool = False


def remember(root: Path, pid: int) -> None:
    """Call it right after the start of a process that changes things."""
    _write(root, Note(pid=pid, started=_started(pid) or ""))


def remember_interrupt(root: Path) -> None:
    note = read(root)
    if note:
        _write(root, replace(note, interrupted=True))


def forget(root: Path) -> None:
    (root / NOTE).unlink(missing_ok=True)


def read(root: Path) -> Note | None:
    try:
        return Note(**json.loads((root / NOTE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def running(root: Path) -> bool:
    note = read(root)
    return note is not None and bool(note.started) and _started(note.pid) == note.started


def settle(root: Path, patience_seconds: float) -> None:
    """Waits until nothing of an earlier Terraform runs in this root, after one SIGINT if it has not had it.

    One that still runs after `patience_seconds` is killed: what it may lose from state is found by its labels.
    """
    note = read(root)
    if note is None:
        return
    if running(root) and not note.interrupted:
        remember_interrupt(root)
        with contextlib.suppress(ProcessLookupError):
            os.kill(note.pid, signal.SIGINT)
    until = time.monotonic() + patience_seconds
    while running(root) and time.monotonic() < until:
        time.sleep(0.05)
    if running(root):
        proc.kill_group(note.pid)
    # A provider whose Terraform was killed goes on creating. Its session bears the dead Terraform's process id.
    for pid in _session(note.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    forget(root)


def _write(root: Path, note: Note) -> None:
    # Not being able to write it (full disk) must not stop what is being done.
    with contextlib.suppress(OSError):
        path = root / NOTE
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(asdict(note)), encoding="utf-8")
        temporary.replace(path)


def _started(pid: int) -> str | None:
    """When a process started; None when there is none, or only its zombie."""
    fields = _stat(pid)
    if fields is not None:
        return None if fields[0] == "Z" else fields[19]
    if Path("/proc/self/stat").exists():
        return None
    outcome = proc.run(Command(argv=["ps", "-o", "lstart=", "-p", str(pid)]), check=False)
    return outcome.stdout.strip() or None


def _session(leader: int) -> list[int]:
    """Processes that belong to the session that `leader` led, without itself."""
    members = []
    for path in Path("/proc").glob("[0-9]*"):
        pid = int(path.name)
        fields = _stat(pid)
        if fields is not None and pid != leader and fields[3] == str(leader):
            members.append(pid)
    return members


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the program's name: state, parent, group, session, ..."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
