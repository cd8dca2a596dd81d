"""The job's log lines as files, one a rank: what `logs` prints, while the job runs and after its rig is gone."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from trainrig.console import masked
from trainrig.model.events import Event, LogLine, Observer
from trainrig.store.workdir import write_atomic

CURSORS = "cursors.json"


class LogFiles:
    """An observer that writes log lines down and hands every event on. `cursors` are where an earlier process
    stopped; those of another generation are of nodes that are gone."""

    def __init__(self, directory: Path, observe: Observer, *, generation: int) -> None:
        self._directory = directory
        self._observe = observe
        self._files: dict[int, IO[str]] = {}
        self._lock = threading.Lock()
        self._written: dict[int, str] = {}
        self._generation = generation
        self.cursors = _read_cursors(directory, generation)

    def __call__(self, event: Event) -> None:
        if isinstance(event, LogLine):
            with self._lock:
                self._file(event.rank).write(masked(event.text) + "\n")
                self.cursors[event.rank] = event.cursor
        self._observe(event)

    def flush(self) -> None:
        """Makes the lines visible, then the place to go on from: a crash in between repeats lines, never loses one."""
        with self._lock:
            for file in self._files.values():
                file.flush()
            if self.cursors != self._written:
                document = {"generation": self._generation, "cursors": self.cursors}
                write_atomic(self._directory / CURSORS, json.dumps(document).encode())
                self._written = dict(self.cursors)

    def close(self) -> None:
        self.flush()
        for file in self._files.values():
            file.close()

    def _file(self, rank: int) -> IO[str]:
        if rank not in self._files:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._files[rank] = log_path(self._directory, rank).open("a", encoding="utf-8")
        return self._files[rank]


def log_path(directory: Path, rank: int) -> Path:
    return directory / f"rank-{rank}.log"


def tail(directory: Path, rank: int, lines: int) -> list[str]:
    """The last lines of a rank, without its end of line."""
    try:
        with log_path(directory, rank).open("rb") as f:
            f.seek(0, 2)
            f.seek(max(0, f.tell() - 64 * 1024))
            return f.read().decode("utf-8", "replace").splitlines()[-lines:]
    except FileNotFoundError:
        return []


def ranks(directory: Path) -> Iterator[int]:
    """The ranks that wrote anything, in order."""
    found = (p.stem.removeprefix("rank-") for p in directory.glob("rank-*.log"))
    yield from sorted(int(r) for r in found if r.isdigit())


def written_at(directory: Path) -> float:
    """When the last line of any rank was written down, in seconds since the epoch; 0: none was."""
    return max((log_path(directory, rank).stat().st_mtime for rank in ranks(directory)), default=0.0)


def _read_cursors(directory: Path, generation: int) -> dict[int, str]:
    try:
        document = json.loads((directory / CURSORS).read_text(encoding="utf-8"))
        return {int(k): v for k, v in document["cursors"].items()} if document["generation"] == generation else {}
    except (OSError, ValueError, KeyError):
        return {}
