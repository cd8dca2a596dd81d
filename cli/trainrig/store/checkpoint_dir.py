"""Checkpoints committed into a directory, of this machine or a file system that machines share.

Layout under the root: `<generation>-<number>/` holds the files, `<generation>-<number>.json` the manifest, written
last and once; `fence` the lowest generation that may still commit. Everything that changes the directory holds the
lock file, so a second process, of an older generation or not, cannot slip in between check and write.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from filelock import FileLock

from trainrig.errors import RigBusy, StoreFailed
from trainrig.model.clock import iso
from trainrig.recovery.checkpoint import CheckpointId, Entry, FileEntry, LinkEntry, Manifest, to_prune, unchanged
from trainrig.recovery.stores import Checkpoint

_BLOCK = 1 << 20


class CheckpointDir:
    def __init__(self, root: Path) -> None:
        self.root = root

    def fence(self, generation: int) -> None:
        with self._locked():
            current = self._fence()
            if generation < current:
                raise RigBusy(
                    f"generation {generation} of this run was replaced by generation {current}",
                    hint="another trainrig process goes on with this run; trainrig status shows it",
                )
            _write(self.root / "fence", str(generation))

    def begin_with(self, identity: CheckpointId | None) -> None:
        """Nothing is kept of it: each checkpoint has all of its files."""

    def probe(self) -> None:
        made = not self.root.exists()
        with self._locked():
            path = self.root / "probe"
            _write(path, "trainrig")
            path.read_text(encoding="utf-8")
            path.unlink()
        if made:
            shutil.rmtree(self.root, ignore_errors=True)

    def commit(self, source: Path, *, run_id: str, generation: int, now: datetime) -> Manifest | None:
        """Files are hard-linked, so `source` must replace files and never write into them (rsync does)."""
        found = scan(source)
        if not found:
            return None
        with self._locked():
            if generation < self._fence():
                raise RigBusy(f"generation {generation} of this run may not write checkpoints any more")
            ids = self._ids()
            last = self._manifest(ids[-1]) if ids else None
            if unchanged(last, found) and last and not last.faults(scan(self.root / str(last.id))):
                return None
            manifest = Manifest(
                id=CheckpointId.after(ids, generation),
                run_id=run_id,
                created_at=iso(now),
                files=found,
            )
            directory = self.root / str(manifest.id)
            shutil.rmtree(directory, ignore_errors=True)  # left by a commit that was killed before its manifest
            try:
                for path in found:
                    target = directory / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    _link(source / path, target)
                _write(self.root / f"{manifest.id}.json", manifest.to_json())
            except OSError:
                shutil.rmtree(directory, ignore_errors=True)  # on a full disk it would hold the room that is missing
                raise
        return manifest

    def newest(self) -> tuple[Checkpoint | None, list[str]]:
        skipped: list[str] = []
        for identity in reversed(self._ids()):
            manifest = self._manifest(identity)
            directory = self.root / str(identity)
            faults = ["its manifest is torn"] if manifest is None else manifest.faults(scan(directory))
            if manifest is not None and not faults:
                return Checkpoint(manifest=manifest, files=directory), skipped
            skipped.append(f"checkpoint {identity}: {'; '.join(faults[:3])}")
        return None, skipped

    def has_one(self) -> bool:
        return self.newest()[0] is not None

    def prune(self, keep: int) -> list[CheckpointId]:
        """The manifest goes first, so that what is left is no checkpoint."""
        with self._locked():
            gone = to_prune(self._ids(), keep)
            for identity in gone:
                (self.root / f"{identity}.json").unlink()
                shutil.rmtree(self.root / str(identity), ignore_errors=True)
        return gone

    def _ids(self) -> list[CheckpointId]:
        names = (CheckpointId.parse(p.stem) for p in self.root.glob("*.json"))
        return sorted(i for i in names if i is not None)

    def _manifest(self, identity: CheckpointId) -> Manifest | None:
        return Manifest.from_json((self.root / f"{identity}.json").read_text(encoding="utf-8", errors="replace"))

    def _fence(self) -> int:
        try:
            return int((self.root / "fence").read_text())
        except (FileNotFoundError, ValueError):
            return 0

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            with FileLock(self.root / ".lock"):
                yield
        except OSError as error:
            raise StoreFailed(
                f"checkpoint store {self.root}: {error.strerror or error}", hint="make room or make it writable"
            ) from error


def scan(directory: Path) -> dict[str, Entry]:
    """Relative path -> content of every regular file and symbolic link; empty when the directory is not there."""
    found: dict[str, Entry] = {}
    for path in sorted(directory.rglob("*")):
        if path.is_symlink():
            found[path.relative_to(directory).as_posix()] = LinkEntry(target=str(path.readlink()))
        elif path.is_file():
            found[path.relative_to(directory).as_posix()] = entry(path)
    return found


def entry(path: Path) -> FileEntry:
    digest = hashlib.sha256()
    with path.open("rb") as f:
        while block := f.read(_BLOCK):
            digest.update(block)
    status = path.stat()
    return FileEntry(sha256=digest.hexdigest(), size=status.st_size, modified_ns=status.st_mtime_ns)


def _link(source: Path, target: Path) -> None:
    if source.is_symlink():
        target.symlink_to(source.readlink())
        return
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without hard links
        shutil.copy2(source, target)


def _write(path: Path, text: str) -> None:
    """Atomic, and on disk before it is visible."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
