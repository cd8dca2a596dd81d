"""Checkpoints committed into a bucket, so that they outlive this machine.

Below the run's prefix lie three kinds of objects:

* `files/SHA256`: content under its own sum, so that what did not change is not sent again and nobody can overwrite
  anybody;
* `manifests/ID-SUM.json`: which names of a checkpoint are which content;
* `head.json`: which manifests are committed, and which generation may commit.

A checkpoint is one only by being in the head, and the head is written in one way only: as the successor of the version
that was read. So a zombie, whose generation the head no longer has, loses its write, and of two writers at once one
does it over.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from trainrig.errors import CommandFailed, PreflightFailed, RigBusy, StoreFailed
from trainrig.model.clock import iso
from trainrig.recovery.checkpoint import (
    CheckpointId,
    Entry,
    FileEntry,
    LinkEntry,
    Manifest,
    mismatch,
    to_prune,
    unchanged,
)
from trainrig.recovery.stores import Changed, Checkpoint, Objects
from trainrig.store.checkpoint_dir import entry, scan

S = TypeVar("S")
T = TypeVar("T")

SCHEMA = "trainrig.checkpoints/1"
AT_ONCE = 4  # files on their way
PROBE = "probe"
TORN = "its manifest is torn"
TRIES = 20  # against other writers; each loss means that somebody else has won


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """`checkpoints`: id -> sha256 of its manifest, those that are committed. `began_with`: what the generation was
    given, whose files were all found to be there and right."""

    run_id: str
    generation: int
    checkpoints: Mapping[CheckpointId, str]
    began_with: CheckpointId | None = None

    @property
    def ids(self) -> list[CheckpointId]:
        return sorted(self.checkpoints)

    @property
    def base(self) -> CheckpointId | None:
        """Whose files need not be sent again: this generation has sent them itself, or was given them."""
        own = [i for i in self.ids if i.generation == self.generation]
        return own[-1] if own else self.began_with if self.began_with in self.checkpoints else None

    def to_json(self) -> bytes:
        document = {
            "schema": SCHEMA,
            "run_id": self.run_id,
            "generation": self.generation,
            "checkpoints": [{"id": str(i), "manifest_sha256": self.checkpoints[i]} for i in self.ids],
            "began_with": None if self.began_with is None else str(self.began_with),
        }
        return json.dumps(document, indent=1).encode()


class CheckpointBucket:
    """`cache`: where files lie on this machine once they were fetched."""

    def __init__(self, objects: Objects, url: str, prefix: str, run_id: str, cache: Path) -> None:
        self._objects, self._url, self._prefix, self._run_id, self._cache = objects, url, prefix, run_id, cache
        self._known: dict[CheckpointId, Manifest] = {}

    def fence(self, generation: int) -> None:
        with self._asked():
            before, version = self._head()
            if before.generation > generation:
                raise _replaced(generation, before.generation)
            if version is None:
                before = replace(before, generation=0)
                version = self._write_head(before, None)
            if before.generation == generation:
                return
            self._write_head(replace(before, generation=generation, began_with=None), version)
            self._require_refusal("head.json", before.to_json(), version)
            self._sweep()

    def begin_with(self, identity: CheckpointId | None) -> None:
        with self._asked():
            head, version = self._head()
            if head.began_with != identity:
                self._write_head(replace(head, began_with=identity), version)

    def probe(self) -> None:
        key = self._key(PROBE)
        with self._asked():
            version = self._objects.write(key, b"first", expected=None)
            try:
                self._objects.write(key, b"second", expected=version)
                self._require_refusal(PROBE, b"third", version)
                found = self._objects.read(key)
                if found is None or found[0] != b"second":
                    raise StoreFailed(f"{self._url} does not give back what was written")
            finally:
                self._objects.delete([key])
            if list(self._objects.names(key)):
                raise StoreFailed(
                    f"{self._url}: what was written cannot be deleted",
                    hint="allow these credentials to delete objects: old checkpoints are given up for newer ones",
                )

    def commit(self, source: Path, *, run_id: str, generation: int, now: datetime) -> Manifest | None:
        def send(missing: Mapping[str, FileEntry]) -> None:
            paths = {file.sha256: source / path for path, file in missing.items()}
            with self._asked():
                _in_parallel(lambda sent: self._objects.upload(self._file_key(sent[0]), sent[1]), paths.items())

        return self.commit_sent(scan(source), send, run_id=run_id, generation=generation, now=now)

    def commit_sent(
        self,
        found: Mapping[str, Entry],
        send: Callable[[Mapping[str, FileEntry]], None],
        *,
        run_id: str,
        generation: int,
        now: datetime,
    ) -> Manifest | None:
        """As `commit`, of files that lie elsewhere: `send` has brought what it is given to `files_url`, each under its
        sha256, when it returns. What it raises is raised."""
        if not found:
            return None
        for _ in range(TRIES):
            with self._asked():
                head, version = self._head()
                if generation < head.generation:
                    raise RigBusy(f"generation {generation} of this run may not write checkpoints any more")
                head = replace(head, generation=generation)
                base = self._manifest(head, head.base) if head.base else None
            if unchanged(base, found):
                return None
            send(_missing(found, base))
            manifest = Manifest(
                id=CheckpointId.after(head.ids, generation),
                run_id=run_id,
                created_at=iso(now),
                files=found,
            )
            content = manifest.to_json().encode()
            digest = hashlib.sha256(content).hexdigest()
            after = replace(head, checkpoints={**head.checkpoints, manifest.id: digest})
            with self._asked():
                self._put(self._manifest_key(manifest.id, digest), content)
                if self._committed(after, version, manifest.id):
                    self._known[manifest.id] = manifest
                    return manifest
        raise StoreFailed(f"{self._url}: others commit faster than this one", hint="is the run carried out twice?")

    def committed(self) -> list[tuple[CheckpointId, Manifest | None, list[str]]]:
        """All of them, newest first, each with what is missing, in words: for whoever fetches the files elsewhere.

        Raises:
            StoreFailed: it does not answer or refuses.
        """
        with self._asked():
            head, _ = self._head()
            there = {key.rpartition("/")[2] for key in self._objects.names(self._key("files/"))} if head.ids else set()
            found = [(i, self._manifest(head, i)) for i in reversed(head.ids)]
        return [(i, m, [TORN] if m is None else _gone(m, there)) for i, m in found]

    def newest(self) -> tuple[Checkpoint | None, list[str]]:
        skipped: list[str] = []
        with self._asked():
            head, _ = self._head()
            for identity in reversed(head.ids):
                manifest = self._manifest(head, identity)
                faults = [TORN] if manifest is None else self._fetch(manifest)
                if manifest is not None and not faults:
                    return Checkpoint(manifest=manifest, files=self._cache / str(identity)), skipped
                skipped.append(f"checkpoint {identity}: {'; '.join(faults[:3])}")
        return None, skipped

    def has_one(self) -> bool:
        return any(not faults for _, _, faults in self.committed())

    def prune(self, keep: int) -> list[CheckpointId]:
        with self._asked():
            for _ in range(TRIES):
                head, version = self._head()
                gone = to_prune(head.ids, keep)
                if not gone:
                    return []
                kept = {i: d for i, d in head.checkpoints.items() if i not in gone}
                try:
                    self._write_head(replace(head, checkpoints=kept), version)
                except Changed:
                    continue
                files = self._referenced(replace(head, checkpoints=kept))
                if files is not None:
                    old = [m for i in gone if (m := self._manifest(head, i)) is not None]
                    unused = {digest for m in old for digest in _sums(m)} - files
                    self._objects.delete(self._file_key(digest) for digest in sorted(unused))
                self._objects.delete(self._manifest_key(i, head.checkpoints[i]) for i in gone)
                return gone
        return []

    def _committed(self, after: Head, version: str | None, identity: CheckpointId) -> bool:
        try:
            self._write_head(after, version)
        except Changed:
            # Our own write may have arrived although its answer was lost.
            return self._head()[0].checkpoints.get(identity) == after.checkpoints[identity]
        return True

    def _require_refusal(self, name: str, content: bytes, gone: str) -> None:
        """A store that takes a write for a version that is gone would take a zombie's too."""
        try:
            self._objects.write(self._key(name), content, expected=gone)
        except Changed:
            return
        raise StoreFailed(
            f"{self._url} ignores conditional writes, so a node that was given up could overwrite its successor's work",
            hint="use a store that honours If-Match and If-None-Match: S3 itself, or a current version of this server",
        )

    def _sweep(self) -> None:
        """Deletes what killed commits have left; whoever is still at one has lost its generation just now."""
        head, _ = self._head()
        files = self._referenced(head)
        if files is None:
            return
        manifests = {self._manifest_key(i, d) for i, d in head.checkpoints.items()}
        left = [k for k in self._objects.names(self._key("manifests/")) if k not in manifests]
        left += [k for k in self._objects.names(self._key("files/")) if k.rpartition("/")[2] not in files]
        self._objects.delete(left)

    def _referenced(self, head: Head) -> set[str] | None:
        """Sums of the files of all committed checkpoints; None: a manifest cannot be read, so nobody can say."""
        found = [self._manifest(head, i) for i in head.ids]
        if any(m is None for m in found):
            return None
        return {digest for m in found if m is not None for digest in _sums(m)}

    def _fetch(self, manifest: Manifest) -> list[str]:
        """Brings a checkpoint's files into the cache; what is wrong with them, in words."""
        directory = self._cache / str(manifest.id)
        for other in self._cache.glob("*-*"):
            if other != directory:
                shutil.rmtree(other, ignore_errors=True)
        for path, found in scan(directory).items():
            # Links are made anew, after the files: nothing is ever written through one.
            if isinstance(found, LinkEntry) or path not in manifest.files:
                (directory / path).unlink()
        files = [(p, f) for p, f in sorted(manifest.files.items()) if isinstance(f, FileEntry)]
        faults = [fault for fault in _in_parallel(lambda one: self._bring(*one, directory), files) if fault]
        for path, link in manifest.files.items():
            if isinstance(link, LinkEntry):
                (directory / path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                (directory / path).symlink_to(link.target)
        return faults

    def _bring(self, path: str, file: FileEntry, directory: Path) -> str:
        target = directory / path
        if not (target.is_file() and entry(target) == file):
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self._objects.download(self._file_key(file.sha256), target):
                return f"{path} is missing"
            if entry(target) != file:
                return mismatch(path, file)
        if file.modified_ns is not None:
            os.utime(target, ns=(file.modified_ns, file.modified_ns))
        return ""

    def _manifest(self, head: Head, identity: CheckpointId) -> Manifest | None:
        """None: torn, tampered with, or gone."""
        if identity not in self._known:
            digest = head.checkpoints[identity]
            found = self._objects.read(self._manifest_key(identity, digest))
            if found is None or hashlib.sha256(found[0]).hexdigest() != digest:
                return None
            manifest = Manifest.from_json(found[0].decode("utf-8", "replace"))
            if manifest is None or manifest.id != identity:
                return None
            self._known[identity] = manifest
        return self._known[identity]

    def _head(self) -> tuple[Head, str | None]:
        found = self._objects.read(self._key("head.json"))
        if found is None:
            return Head(run_id=self._run_id, generation=0, checkpoints={}), None
        return _parse(found[0], self._url), found[1]

    def _write_head(self, head: Head, version: str | None) -> str:
        return self._objects.write(self._key("head.json"), head.to_json(), expected=version)

    def _put(self, key: str, content: bytes) -> None:
        """A manifest: its key has its sum, so whoever was there before wrote the same."""
        try:
            self._objects.write(key, content, expected=None)
        except Changed:
            return

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}"

    def _file_key(self, digest: str) -> str:
        return self._key(f"files/{digest}")

    def _manifest_key(self, identity: CheckpointId, digest: str) -> str:
        return self._key(f"manifests/{identity}-{digest[:16]}.json")

    @contextmanager
    def _asked(self) -> Iterator[None]:
        try:
            yield
        except (CommandFailed, PreflightFailed) as error:
            if isinstance(error, StoreFailed):
                raise
            raise StoreFailed(
                f"checkpoint store {self._url}: {error.message}", hint=error.hint, details=error.details
            ) from error
        except Changed as error:
            raise StoreFailed(f"checkpoint store {self._url}: {error} changes all the time") from error


def _parse(content: bytes, url: str) -> Head:
    try:
        value: Any = json.loads(content)
        if value["schema"] != SCHEMA:
            raise ValueError(value["schema"])
        pairs = ((CheckpointId.parse(c["id"]), str(c["manifest_sha256"])) for c in value["checkpoints"])
        return Head(
            run_id=str(value["run_id"]),
            generation=int(value["generation"]),
            checkpoints={i: digest for i, digest in pairs if i is not None},
            began_with=CheckpointId.parse(value.get("began_with") or ""),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise StoreFailed(
            f"{url}: head.json is not ours or was damaged: {error}",
            hint="bring back an earlier version of the object, or begin with resume: fresh in another prefix",
        ) from error


def _missing(found: Mapping[str, Entry], base: Manifest | None) -> dict[str, FileEntry]:
    """One path a content, of what is not there for certain: checkpoints before the base may be pruned at any moment,
    and those that were passed over may lack any file."""
    there = set(_sums(base)) if base else set()
    files = {f.sha256: (path, f) for path, f in found.items() if isinstance(f, FileEntry)}
    return {path: file for digest, (path, file) in files.items() if digest not in there}


def _gone(manifest: Manifest, there: Collection[str]) -> list[str]:
    files = ((p, f) for p, f in sorted(manifest.files.items()) if isinstance(f, FileEntry))
    return [f"{path} is missing" for path, file in files if file.sha256 not in there]


def _sums(manifest: Manifest) -> Iterator[str]:
    return (f.sha256 for f in manifest.files.values() if isinstance(f, FileEntry))


def _replaced(generation: int, by: int) -> RigBusy:
    return RigBusy(
        f"generation {generation} of this run was replaced by generation {by}",
        hint="another trainrig process goes on with this run; trainrig status shows it",
    )


def _in_parallel(work: Callable[[S], T], on: Iterable[S]) -> list[T]:
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        return list(pool.map(work, on))
