"""What keeps checkpoints, whatever it is made of, and what a bucket must be able to do for it. Pure: shapes alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from trainrig.recovery.checkpoint import CheckpointId, Manifest


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    manifest: Manifest
    files: Path  # the directory on this machine that holds them


class CheckpointStore(Protocol):
    """The checkpoints of one run. Every method may be called again after a crash in the middle of it."""

    def fence(self, generation: int) -> None:
        """From now on only `generation` and later ones may commit: nodes of older ones may still be alive.

        Raises:
            RigBusy: a later generation has already taken over.
            StoreFailed: it does not answer, refuses, or cannot fence.
        """
        ...

    def begin_with(self, identity: CheckpointId | None) -> None:
        """Says which checkpoint the fenced generation was given; None: none was whole. What it commits builds on that
        and on nothing that was passed over.

        Raises:
            StoreFailed: it does not answer or refuses.
        """
        ...

    def probe(self) -> None:
        """Does on something of its own what runs do: writes, replaces, reads, lists and deletes. Leaves nothing.

        Raises:
            StoreFailed: it does not answer, refuses, or cannot fence.
        """
        ...

    def commit(self, source: Path, *, run_id: str, generation: int, now: datetime) -> Manifest | None:
        """Makes the files under `source` the newest checkpoint; None when nothing changed or nothing is there.

        Raises:
            RigBusy: the generation is fenced off.
            StoreFailed: it does not answer or refuses; what was committed before stands.
        """
        ...

    def newest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest checkpoint whose files all match, and in words why newer ones were passed over.

        Raises:
            StoreFailed: it does not answer or refuses.
        """
        ...

    def has_one(self) -> bool:
        """Whether there is a checkpoint of which nothing is missing; a bucket's contents are not fetched for that.

        Raises:
            StoreFailed: it does not answer or refuses.
        """
        ...

    def prune(self, keep: int) -> list[CheckpointId]:
        """Gives up all but the newest `keep`; a kill in the middle leaves no half one."""
        ...


class Changed(Exception):
    """An object is not in the version that a conditional write expected."""


class Objects(Protocol):
    """A bucket. A version is an opaque word that differs for different contents; of S3 and Azure it is the ETag, of
    Google the generation. Every method raises CommandFailed, CredentialsMissing or PreflightFailed."""

    def read(self, key: str) -> tuple[bytes, str] | None:
        """Content and version of a small object; None: it is not there."""
        ...

    def write(self, key: str, content: bytes, *, expected: str | None) -> str:
        """Replaces the version `expected`, or creates what must not be there yet (None); returns the new version.

        Raises:
            Changed: another version is there, or none.
        """
        ...

    def upload(self, key: str, path: Path) -> None: ...

    def download(self, key: str, path: Path) -> bool:
        """False: it is not there."""
        ...

    def names(self, prefix: str) -> Iterator[str]:
        """Keys that begin so, in any order."""
        ...

    def delete(self, keys: Iterable[str]) -> None:
        """What is not there is fine."""
        ...
