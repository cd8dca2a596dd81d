"""One rig, one writer. The kernel drops the lock when its holder dies; the note beside it says who holds it."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from trainrig.errors import RigBusy
from trainrig.model import pipeline
from trainrig.model.clock import iso, utc_now
from trainrig.store.workdir import write_atomic

LOCK = "rig.lock"
NOTE = "rig.lock.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Holder:
    who: str
    where: str  # host name
    since: str
    pid: int
    verb: str
    pipeline: str | None = None  # the CI run that it is a step of, see model/pipeline.py

    def __str__(self) -> str:
        return f"{self.who} on {self.where}, {self.verb} since {self.since}, pid {self.pid}"


@contextlib.contextmanager
def hold(directory: Path, verb: str, *, wait_seconds: float = 0, noted: bool = True) -> Iterator[None]:
    """The right to change the rig of this directory; a process that has it may take it again for a part of its work.
    Without a note, that of a dead process stays, as evidence.

    Raises:
        RigBusy: somebody else has it; the error says who.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    # One object a process and file, whichever thread asks: taking it again counts, and does not wait for itself.
    lock = FileLock(directory / LOCK, mode=0o600, thread_local=False, is_singleton=True)
    try:
        lock.acquire(timeout=wait_seconds)
    except Timeout:
        current = holder(directory)
        raise RigBusy(
            f"the rig is in use by {current or 'another process'}",
            hint="wait for it, or stop it with one SIGINT and wait for its end",
            details=asdict(current) if current else {},
        ) from None
    if lock.lock_counter > 1 or not noted:
        try:
            yield
        finally:
            lock.release()
        return
    note = directory / NOTE
    try:
        mine = Holder(
            who=getpass.getuser(),
            where=socket.gethostname(),
            since=iso(utc_now()),
            pid=os.getpid(),
            verb=verb,
            pipeline=pipeline.current(os.environ),
        )
        write_atomic(note, json.dumps(asdict(mine)).encode())
        yield
    finally:
        note.unlink(missing_ok=True)
        lock.release()


def holder(directory: Path) -> Holder | None:
    """Who says to hold the lock; a note that was left behind by a dead process is reported too."""
    try:
        return Holder(**json.loads((directory / NOTE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def held(directory: Path) -> bool:
    """Whether a living process of this machine holds the lock."""
    lock = FileLock(directory / LOCK, mode=0o600)
    try:
        with lock.acquire(timeout=0):
            return False
    except Timeout:
        return True
