"""The run's checkpoint store with the real code of a directory or a bucket, which can go away, and is written down."""

from __future__ import annotations

import fcntl
import hashlib
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from support.soak.played_nodes import steps_of
from support.soak.settings import Play, note
from support.stub_cloud import objects
from trainrig.errors import CommandFailed, RigBusy, StoreFailed
from trainrig.recovery.checkpoint import CheckpointId, Manifest
from trainrig.recovery.stores import Changed, Checkpoint, CheckpointStore
from trainrig.store.checkpoint_bucket import CheckpointBucket
from trainrig.store.checkpoint_dir import CheckpointDir
from trainrig.store.workdir import write_atomic


def away() -> Path:
    """While this file is there, no store answers."""
    return objects.root() / "store-away"


class FolderObjects:
    """A bucket that is a folder, with conditional writes. It proves nothing about a real one."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, key: str) -> tuple[bytes, str] | None:
        self._there()
        try:
            content = self._path(key).read_bytes()
        except FileNotFoundError:
            return None
        return content, hashlib.sha256(content).hexdigest()

    def write(self, key: str, content: bytes, *, expected: str | None) -> str:
        with self._alone():
            found = self.read(key)
            if (found[1] if found else None) != expected:
                raise Changed(key)
            write_atomic(self._path(key), content)
            self._there()  # it is written, and nobody hears of it
        return hashlib.sha256(content).hexdigest()

    def upload(self, key: str, path: Path) -> None:
        self._there()
        write_atomic(self._path(key), path.read_bytes())

    def download(self, key: str, path: Path) -> bool:
        found = self.read(key)
        if found is None:
            return False
        write_atomic(path, found[0])
        return True

    def names(self, prefix: str) -> Iterator[str]:
        self._there()
        found = (p.name.replace("%", "/") for p in self._root.glob("*") if not p.name.startswith("."))
        yield from (n for n in found if n.startswith(prefix))

    def delete(self, keys: Iterable[str]) -> None:
        self._there()
        for key in keys:
            self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._root / key.replace("/", "%")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._root.mkdir(parents=True, exist_ok=True)
        with (self._root / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _there(self) -> None:
        if away().exists():
            raise CommandFailed("the bucket does not answer")


class WatchedStore:
    """Says to the judge what was fenced and committed, and when that began."""

    def __init__(self, store: CheckpointStore, who: str) -> None:
        self._store, self._who = store, who

    def fence(self, generation: int) -> None:
        self._there()
        self._store.fence(generation)
        note("fence", generation=generation)

    def begin_with(self, identity: CheckpointId | None) -> None:
        self._there()
        self._store.begin_with(identity)

    def probe(self) -> None:
        self._store.probe()

    def commit(self, source: Path, *, run_id: str, generation: int, now: datetime) -> Manifest | None:
        self._there()
        began = time.time()
        try:
            made = self._store.commit(source, run_id=run_id, generation=generation, now=now)
        except RigBusy:
            note("fenced-off", generation=generation, who=self._who)
            raise
        if made is not None:
            note(
                "commit", generation=generation, who=self._who, began=began, id=str(made.id), step=steps_of(made.files)
            )
        return made

    def newest(self) -> tuple[Checkpoint | None, list[str]]:
        self._there()
        return self._store.newest()

    def prune(self, keep: int) -> list[CheckpointId]:
        self._there()
        return self._store.prune(keep)

    def _there(self) -> None:
        if away().exists():
            raise StoreFailed("the store does not answer")


def store_of(_job: Any, _environment: Any, run_id: str, rig: Path, who: str = "run") -> WatchedStore:
    if Play.of_this_cloud().bucket:
        bucket = FolderObjects(objects.root() / "bucket")
        return WatchedStore(CheckpointBucket(bucket, "stub://bucket", run_id, run_id, rig / "fetched"), who)
    return WatchedStore(CheckpointDir(rig / "checkpoints"), who)
