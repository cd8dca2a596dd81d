"""The fake cloud: a folder of JSON files, one an object, beside a log of calls and a list of faults to come.

    objects/*.json        {"type": "aws_instance", "id": "i-...", "state": {...}}
    calls.jsonl           {"at": 1.5, "call": "create", "type": "aws_instance", "name": "tr-x-0", "id": null}
    faults.json           [Fault, ...] as written by `inject`

A folder, so that a test sees it whatever process made it, and so that it outlives a killed Terraform as a cloud does.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal

Call = Literal["configure", "read", "plan", "create", "update", "delete", "data"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """Happens on calls `nth`, `nth`+1, ... up to `times` of them (0: for ever). Counting starts when it is injected."""

    call: Call
    type: str = "*"  # pattern: "aws_*"
    name: str = "*"  # pattern for the object's name
    nth: int = 1
    times: int = 1
    seconds: float = 0  # how long the call takes; the object exists from its start
    error: str | None = None  # None: only slow
    # Of a failing create: nothing is made; made and known to Terraform (tainted); made and unknown to it (orphan).
    leaves: Literal["nothing", "tainted", "orphan"] = "nothing"
    # A slow create that is dropped when Terraform is interrupted, as azurerm does (terraform-provider-azurerm#32230).
    rude: bool = False
    # Block -> attributes: a create makes these of it instead of what was ordered, without a word.
    makes: Mapping[str, Mapping[str, Any]] | None = None


class FakeCloud:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._objects = folder / "objects"
        self._objects.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._seen: list[int] = []
        self._faults_text = ""

    def put(self, type_: str, id_: str, state: dict[str, Any]) -> None:
        path = self._path(type_, id_)
        temporary = path.with_suffix(f".{threading.get_ident()}")
        temporary.write_text(json.dumps({"type": type_, "id": id_, "state": state}), encoding="utf-8")
        temporary.replace(path)

    def get(self, type_: str, id_: str) -> dict[str, Any] | None:
        path = self._path(type_, id_)
        state: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8"))["state"] if path.exists() else None
        return state

    def remove(self, type_: str, id_: str) -> None:
        """What a preemption does: gone behind Terraform's back."""
        self._path(type_, id_).unlink(missing_ok=True)

    def objects(self, type_: str = "*") -> list[dict[str, Any]]:
        """`{"type", "id", "state"}` of each object that exists."""
        found = []
        for path in sorted(self._objects.glob("*.json")):
            with contextlib.suppress(FileNotFoundError):  # deleted since it was listed
                found.append(json.loads(path.read_text(encoding="utf-8")))
        return [o for o in found if fnmatch(o["type"], type_)]

    def calls(self, call: str = "*", type_: str = "*") -> list[dict[str, Any]]:
        log = self.folder / "calls.jsonl"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [c for c in map(json.loads, lines) if fnmatch(c["call"], call) and fnmatch(c["type"], type_)]

    def inject(self, *faults: Fault) -> None:
        """Replaces the faults to come."""
        (self.folder / "faults.json").write_text(json.dumps([asdict(f) for f in faults]), encoding="utf-8")

    def log(self, call: Call, type_: str, name: str, id_: str | None = None) -> Fault | None:
        """Writes a call down and says what is wrong with it."""
        with self._lock:
            entry = {"at": time.time(), "call": call, "type": type_, "name": name, "id": id_}
            with (self.folder / "calls.jsonl").open("a", encoding="utf-8") as f:
                f.write(json.dumps(entry) + "\n")
            return next(self._due(call, type_, name), None)

    def _due(self, call: str, type_: str, name: str) -> Iterator[Fault]:
        path = self.folder / "faults.json"
        text = path.read_text(encoding="utf-8") if path.exists() else "[]"
        faults = [Fault(**f) for f in json.loads(text)]
        if text != self._faults_text:
            self._faults_text, self._seen = text, [0] * len(faults)
        for i, fault in enumerate(faults):
            if fault.call == call and fnmatch(type_, fault.type) and fnmatch(name, fault.name):
                self._seen[i] += 1
                if self._seen[i] >= fault.nth and (fault.times == 0 or self._seen[i] < fault.nth + fault.times):
                    yield fault

    def _path(self, type_: str, id_: str) -> Path:
        return self._objects / f"{type_}-{hashlib.sha256(id_.encode()).hexdigest()[:16]}.json"
