"""The job's log of one run, from the files that its watcher writes; they outlive the rig."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from trainrig.errors import RigUnknown
from trainrig.lifecycle import log_files
from trainrig.model.events import LogLine
from trainrig.store.journal import Journal
from trainrig.store.workdir import RigDir

POLL_SECONDS = 0.3
ENDED = {"destroyed", "failed"}


def follow(
    home: Path, name_or_run_id: str, *, rank: int | None, wait: bool, sleep: Callable[[float], None] = time.sleep
) -> Iterator[LogLine]:
    """Every line so far, by rank; with `wait`, also those to come, until the run has ended.

    Raises:
        RigUnknown: no such rig, or its job has not written anything and will not.
    """
    journal = Journal(home)
    tails: dict[int, _Tail] = {}
    try:
        identity = journal.find(name_or_run_id).identity
        directory = RigDir.of(home, identity).path / "logs"
        while True:
            # Asked before reading: what is written until the end is read after it.
            ended = journal.rig(identity.run_id).state.value in ENDED
            for found in log_files.ranks(directory):
                if found not in tails and rank in {None, found}:
                    tails[found] = _Tail(log_files.log_path(directory, found))
            for number in sorted(tails):
                yield from (LogLine(rank=number, text=text) for text in tails[number].read())
            if ended or not wait:
                break
            sleep(POLL_SECONDS)
        if not tails:
            raise RigUnknown(f"the job of {identity.name} has not written anything", hint="trainrig status shows why")
    finally:
        for tail in tails.values():
            tail.close()
        journal.close()


class _Tail:
    """A file that grows, by whole lines."""

    def __init__(self, path: Path) -> None:
        self._file = path.open(encoding="utf-8", errors="replace")
        self._rest = ""

    def close(self) -> None:
        self._file.close()

    def read(self) -> Iterator[str]:
        *lines, self._rest = (self._rest + self._file.read()).split("\n")
        yield from lines
