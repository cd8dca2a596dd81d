"""A Terraform that outlived the trainrig that started it: known by a note in its root, ended as gently as any other.

The note holds the process's start time, so that a recycled process id is never taken for it, and whether it has had its
one SIGINT already. It also says where that id means something: machines may share the folder, and a machine may have
booted since. Nothing is ever signalled by the id of another place.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
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
    host: str = ""  # name of the machine; empty: an older trainrig wrote it
    where: str = ""  # see `here`


def here() -> str:
    """Equal for processes that know each other's ids: those of one boot, and of one container of it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def remember(root: Path, pid: int) -> None:
    """Call it right after the start of a process that changes things."""
    _write(root, Note(pid=pid, started=_started(pid) or "", host=socket.gethostname(), where=here()))


def elsewhere(root: Path) -> str | None:
    """The name of the other machine that worked in this root last. What of it still runs there, only its state lock
    can tell."""
    note = read(root)
    return note.host if note is not None and note.host not in {"", socket.gethostname()} else None


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
    return note is not None and _ours(note) and bool(note.started) and _started(note.pid) == note.started


def settle(root: Path, patience_seconds: float) -> None:
    """Waits until nothing of an earlier Terraform runs in this root, after one SIGINT if it has not had it.

    One that still runs after `patience_seconds` is killed: what it may lose from state is found by its labels. One of
    another machine is left alone.
    """
    note = read(root)
    if note is None or elsewhere(root):
        return
    if not _ours(note):  # this machine has booted since
        forget(root)
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
    # A provider whose Terraform was killed goes on creating. Its session bears the dead Terraform's process id, which
    # no other process can have meanwhile.
    for pid in _session(note.pid) if _started(note.pid) is None else ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    forget(root)


def end_all(program: str, word: str) -> None:
    """Kills the processes of this machine that were started as that program with that word, such as a file of one rig,
    and all in the sessions that they lead."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = os.fsdecode((path / "cmdline").read_bytes()).split("\0")
            if word in words and any(Path(w).name == program for w in words[:2]):
                for pid in (*_session(int(path.name)), int(path.name)):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)


def _ours(note: Note) -> bool:
    return note.where in {"", here()}


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
