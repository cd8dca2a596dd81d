"""A cloud that is a folder: one JSON file an object, and faults to order.

It proves how trainrig deals with errors, kills and leftovers. It proves nothing about a real cloud.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict


class Fault(TypedDict, total=False):
    """What goes wrong, and where; a key that is missing matches everything."""

    op: str  # create, delete, read
    type: str  # stub_node, stub_network
    zone: str
    rank: int
    error: str  # the cloud's words; none: only slow
    after: bool  # the object exists in spite of the error
    lost: bool  # with `after`: the provider does not say so, and Terraform knows nothing of it
    sleep: float  # seconds the call takes
    times: int  # how often; none: always


class StubError(Exception):
    """The cloud refuses."""


def root() -> Path:
    path = Path(os.environ["STUB_CLOUD"])
    (path / "objects").mkdir(parents=True, exist_ok=True)
    return path


def order(*faults: Fault) -> None:
    _replace(root() / "faults.json", json.dumps(faults))


def everything() -> list[dict[str, Any]]:
    """All objects, machines first, as a delete in order needs them."""
    found = []
    for path in sorted((root() / "objects").glob("*.json")):
        try:
            found.append(json.loads(path.read_text()))
        except FileNotFoundError:
            continue
    return sorted(found, key=lambda o: (o["type"] != "stub_node", o["id"]))


def get(ident: str) -> dict[str, Any] | None:
    path = _path(ident)
    return json.loads(path.read_text()) if path.exists() else None


def create(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    """The new object.

    Raises:
        StubError: an ordered fault; `error.args[1]` is the object where it exists all the same and the caller knows.
    """
    fault = _fault("create", kind, values)
    made = {**values, "type": kind, "id": f"{kind.removeprefix('stub_')}-{uuid.uuid4().hex[:8]}"}
    with _slowly(fault):
        if not fault or fault.get("after") or "error" not in fault:
            _write(made)
    if "error" in fault:
        raise StubError(fault["error"], made if fault.get("after") and not fault.get("lost") else None)
    return made


def delete(ident: str) -> None:
    """Gone already is fine. Raises StubError for an ordered fault, and for a network that has machines."""
    found = get(ident)
    if found is None:
        return
    fault = _fault("delete", found["type"], found)
    with _slowly(fault):
        pass
    if "error" in fault:
        raise StubError(fault["error"], None)
    if found["type"] == "stub_network" and any(o.get("network") == ident for o in everything()):
        raise StubError(f"DependencyViolation: {ident} has machines", None)
    _path(ident).unlink(missing_ok=True)


def update(ident: str, values: dict[str, Any]) -> None:
    _write({**(get(ident) or {}), **values})


@contextlib.contextmanager
def _slowly(fault: Fault) -> Iterator[None]:
    """The first half of a slow call is before its effect, the second after; `slow-*` tells that it is under way."""
    if "sleep" not in fault:
        yield
        return
    mark = root() / f"slow-{uuid.uuid4().hex[:8]}"
    mark.touch()
    time.sleep(fault["sleep"] / 2)
    yield
    time.sleep(fault["sleep"] / 2)
    mark.unlink(missing_ok=True)


def _path(ident: str) -> Path:
    return root() / "objects" / f"{ident}.json"


def _write(made: dict[str, Any]) -> None:
    _replace(_path(made["id"]), json.dumps(made))


def _fault(op: str, kind: str, values: dict[str, Any]) -> Fault:
    """The first ordered fault that matches; its count goes down."""
    path = root() / "faults.json"
    if not path.exists():
        return {}
    with (root() / "faults.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        faults: list[Fault] = json.loads(path.read_text())
        for fault in _matching(faults, {"op": op, "type": kind, **values}):
            if "times" in fault:
                fault["times"] -= 1
                _replace(path, json.dumps(faults))
            return fault
    return {}


def _replace(path: Path, text: str) -> None:
    """Whole or not at all: whoever writes may be killed."""
    temporary = path.with_suffix(f".{uuid.uuid4().hex}")
    temporary.write_text(text)
    temporary.replace(path)


def _matching(faults: list[Fault], call: dict[str, Any]) -> Iterator[Fault]:
    for fault in faults:
        wanted = {k: v for k, v in fault.items() if k in {"op", "type", "zone", "rank"}}
        if fault.get("times", 1) > 0 and all(call.get(k) == v for k, v in wanted.items()):
            yield fault
