"""Where checkpoints are kept, for tests: how stores are opened there, and how others damage what they hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trainrig.recovery.checkpoint import FileEntry, Manifest
from trainrig.recovery.stores import CheckpointStore, Objects
from trainrig.store.checkpoint_bucket import CheckpointBucket
from trainrig.store.checkpoint_dir import CheckpointDir

RUN = "abcd2345"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a store is: as many processes as one likes open it, each from a folder of its own, and others damage it."""

    open: Callable[[], CheckpointStore]
    tamper: Callable[[Manifest, str], None]  # one file of a checkpoint
    lose: Callable[[Manifest, str], None]
    tear: Callable[[Manifest], None]  # its manifest
    kept: Callable[[], int]  # contents that are kept


def in_directory(root: Path) -> Place:
    def file(manifest: Manifest, path: str) -> Path:
        return root / str(manifest.id) / path

    def tamper(manifest: Manifest, path: str) -> None:
        file(manifest, path).unlink()  # the content may be linked into other checkpoints
        file(manifest, path).write_text("evil")

    def tear(manifest: Manifest) -> None:
        (root / f"{manifest.id}.json").write_text('{"schema": "trainrig.che')

    return Place(
        open=lambda: CheckpointDir(root),
        tamper=tamper,
        lose=lambda manifest, path: file(manifest, path).unlink(),
        tear=tear,
        kept=lambda: len({p.stat().st_ino for p in root.glob("*-*/**/*") if p.is_file()}),
    )


def in_bucket(objects: Objects, prefix: str, tmp_path: Path) -> Place:
    opened: list[int] = []

    def open_one() -> CheckpointBucket:
        opened.append(1)
        return CheckpointBucket(objects, f"test://{prefix}", prefix, RUN, tmp_path / f"cache-{len(opened)}")

    def replace(key: str, content: bytes) -> None:
        found = objects.read(key)
        assert found is not None, key
        objects.write(key, content, expected=found[1])

    def key(manifest: Manifest, path: str) -> str:
        entry = manifest.files[path]
        assert isinstance(entry, FileEntry)
        return f"{prefix}/files/{entry.sha256}"

    def tear(manifest: Manifest) -> None:
        (name,) = objects.names(f"{prefix}/manifests/{manifest.id}-")
        replace(name, b'{"schema": "trainrig.che')

    return Place(
        open=open_one,
        tamper=lambda manifest, path: replace(key(manifest, path), b"evil"),
        lose=lambda manifest, path: objects.delete([key(manifest, path)]),
        tear=tear,
        kept=lambda: len(list(objects.names(f"{prefix}/files/"))),
    )
