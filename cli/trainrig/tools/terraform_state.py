"""What a Terraform state holds: types and ids, nothing else of it."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class StateResource:
    address: str
    type: str
    id: str  # the cloud's own; the address where the type has none


def parse(raw: bytes) -> tuple[StateResource, ...]:
    """Managed resources of a raw state (`terraform state pull`); empty for an empty one.

    Raises:
        ValueError: it is not a state of format 4.
    """
    if not raw.strip():
        return ()
    state = json.loads(raw)
    if state.get("version") != 4:
        raise ValueError(f"state format {state.get('version')}, trainrig reads 4")
    return tuple(
        _resource(resource, instance)
        for resource in state.get("resources", ())
        if resource["mode"] == "managed"
        for instance in resource["instances"]
    )


def serial(raw: bytes) -> int:
    """How often the state was written; 0 for none."""
    return int(json.loads(raw).get("serial", 0)) if raw.strip() else 0


def _resource(resource: dict[str, object], instance: dict[str, object]) -> StateResource:
    key = instance.get("index_key")
    index = "" if key is None else f"[{json.dumps(key)}]"
    module = f"{resource['module']}." if resource.get("module") else ""
    address = f"{module}{resource['type']}.{resource['name']}{index}"
    attributes = instance.get("attributes")
    own = attributes.get("id") if isinstance(attributes, dict) else None
    return StateResource(address=address, type=str(resource["type"]), id=str(own or address))
