"""Committed checkpoints: a set of files is a checkpoint only once its manifest exists, and the manifest is written
last and once. Pure: this file says what is valid, lifecycle/checkpoints.py moves the bytes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

SCHEMA = "trainrig.checkpoint/1"


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class CheckpointId:
    """Orders checkpoints: later generations win over earlier ones, then the higher number."""

    generation: int
    number: int

    def __str__(self) -> str:
        return f"{self.generation:06d}-{self.number:06d}"

    @classmethod
    def parse(cls, text: str) -> CheckpointId | None:
        generation, dash, number = text.partition("-")
        if dash and generation.isdigit() and number.isdigit():
            return cls(generation=int(generation), number=int(number))
        return None

    @classmethod
    def after(cls, ids: Sequence[CheckpointId], generation: int) -> CheckpointId:
        """The next of a generation; `ids` are those that are committed, in order."""
        number = ids[-1].number + 1 if ids and ids[-1].generation == generation else 1
        return cls(generation=generation, number=number)


@dataclass(frozen=True, kw_only=True, slots=True)
class FileEntry:
    """`modified_ns`: jobs look for the newest of their files; it is given back, and makes no other content."""

    sha256: str
    size: int  # bytes
    modified_ns: int | None = field(default=None, compare=False)  # since the epoch; None: an old manifest has none


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkEntry:
    """A symbolic link, such as `last.ckpt`. It is kept as it is, whether or not something is where it points."""

    target: str


Entry = FileEntry | LinkEntry


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    id: CheckpointId
    run_id: str
    created_at: str  # ISO 8601, UTC
    files: Mapping[str, Entry]  # relative POSIX path -> content

    def to_json(self) -> str:
        return json.dumps(
            {
                "schema": SCHEMA,
                "run_id": self.run_id,
                "generation": self.id.generation,
                "number": self.id.number,
                "created_at": self.created_at,
                "files": entries_to(self.files),
            },
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str) -> Manifest | None:
        """None when the text is no manifest of ours: torn, tampered with, or of another schema."""
        try:
            value: Any = json.loads(text)
            if value["schema"] != SCHEMA:
                return None
            return cls(
                id=CheckpointId(generation=int(value["generation"]), number=int(value["number"])),
                run_id=str(value["run_id"]),
                created_at=str(value["created_at"]),
                files=entries_from(value["files"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    def faults(self, found: Mapping[str, Entry]) -> list[str]:
        """What is wrong with the files that are there, in words; empty: the checkpoint is whole."""
        wrong = [f"{path} is missing" for path in sorted(self.files.keys() - found.keys())]
        wrong += [
            mismatch(path, entry)
            for path, entry in sorted(self.files.items())
            if path in found and found[path] != entry
        ]
        return wrong


def mismatch(path: str, wanted: Entry) -> str:
    return f"{path} does not match its sha256" if isinstance(wanted, FileEntry) else f"{path} is another link"


def entries_to(files: Mapping[str, Entry]) -> dict[str, dict[str, str | int | None]]:
    """As JSON: of a file `sha256`, `size` and `modified_ns`, of a symbolic link `link`."""
    return {path: _entry_document(entry) for path, entry in sorted(files.items())}


def entries_from(value: Mapping[str, Any]) -> dict[str, Entry]:
    """The reverse. Raises ValueError, KeyError, TypeError or AttributeError when it is none of ours."""
    return {_inside(path): _entry(entry) for path, entry in value.items()}


def _entry_document(entry: Entry) -> dict[str, str | int | None]:
    if isinstance(entry, LinkEntry):
        return {"link": entry.target}
    return {"sha256": entry.sha256, "size": entry.size, "modified_ns": entry.modified_ns}


def _entry(value: Mapping[str, Any]) -> Entry:
    if "link" in value:
        return LinkEntry(target=str(value["link"]))
    modified = value.get("modified_ns")
    return FileEntry(
        sha256=str(value["sha256"]), size=int(value["size"]), modified_ns=None if modified is None else int(modified)
    )


def _inside(path: str) -> str:
    """A path below the checkpoint; whoever could write to a bucket must not reach other files of this machine."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise ValueError(path)
    return path


def unchanged(manifest: Manifest | None, found: Mapping[str, Entry]) -> bool:
    """Whether a commit would add nothing to the newest one."""
    return manifest is not None and dict(manifest.files) == dict(found)


def to_prune(ids: Sequence[CheckpointId], keep: int) -> list[CheckpointId]:
    """The checkpoints that retention gives up, oldest first; the newest `keep` (at least one) stay."""
    return sorted(ids)[: -max(keep, 1)]


def best_interval_minutes(save_seconds: float, hours_between_preemptions: float) -> float:
    """How often to write a checkpoint: Young's first-order optimum with Daly's correction.

    Source: J. T. Daly, "A higher order estimate of the optimum checkpoint interval", FGCS 22 (2006), equation 37.
    """
    between = hours_between_preemptions * 3600
    if save_seconds >= 2 * between:
        return between / 60
    ratio = save_seconds / (2 * between)
    seconds = math.sqrt(2 * save_seconds * between) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save_seconds
    return seconds / 60
