"""A Terraform plan, typed, without its secrets: what it will do, whether that is safe, and a digest of its meaning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from trainrig.errors import TerraformFailed, UnsafePlan
from trainrig.model.rig import digest_of

FORMAT_MAJOR = "1"
REDACTED = "(sensitive)"

Kind = Literal["create", "update", "delete", "replace", "read", "no-op", "forget"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceChange:
    address: str
    type: str
    kind: Kind
    before: Mapping[str, Any] | None  # sensitive values replaced
    after: Mapping[str, Any] | None  # sensitive values replaced; unknown ones left out
    replace_because: tuple[str, ...] = ()  # the attributes that force the replacement

    @property
    def destructive(self) -> bool:
        return self.kind in {"delete", "replace"}

    @property
    def changed(self) -> tuple[str, ...]:
        """Names of the top-level attributes that differ."""
        before, after = self.before or {}, self.after or {}
        return tuple(sorted(k for k in {*before, *after} if before.get(k) != after.get(k)))


@dataclass(frozen=True, kw_only=True, slots=True)
class TerraformPlan:
    changes: tuple[ResourceChange, ...]  # managed resources, without no-ops
    drift: tuple[ResourceDrifted, ...]
    outputs: tuple[str, ...]  # names of the outputs that change

    def count(self, *kinds: Kind) -> int:
        return sum(c.kind in kinds for c in self.changes)

    @property
    def summary(self) -> dict[str, int]:
        """The counts of `trainrig.plan/1`; a replacement counts once, as such."""
        return {
            "add": self.count("create"),
            "change": self.count("update"),
            "destroy": self.count("delete", "forget"),
            "replace": self.count("replace"),
        }

    @property
    def digest(self) -> str:
        """Equal for plans that mean the same, whatever the order, the time and the version of Terraform."""
        meaning = [
            [c.address, c.type, c.kind, c.after, list(c.replace_because)]
            for c in sorted(self.changes, key=lambda c: c.address)
        ]
        return digest_of(json.dumps(meaning, sort_keys=True, separators=(",", ":")))

    def raise_if_unsafe(self) -> None:
        """A rig's plan only ever adds.

        Raises:
            UnsafePlan: it deletes or replaces something; the error names what.
        """
        harmful = [c for c in self.changes if c.destructive or c.kind == "forget"]
        if harmful:
            lines = [
                f"  {c.kind} {c.address}" + (f" because of {', '.join(c.replace_because)}" if c.replace_because else "")
                for c in harmful
            ]
            raise UnsafePlan(
                "\n".join([f"the plan deletes or replaces {len(harmful)} of its resources", *lines]),
                hint="destroy the rig and apply again, or see what changed with trainrig drift",
                details={"resources": [c.address for c in harmful]},
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceDrifted:
    """A resource that the cloud shows otherwise than the state has it."""

    address: str
    type: str
    id: str
    gone: bool
    changed: tuple[str, ...]


def parse(document: Mapping[str, Any]) -> TerraformPlan:
    """`terraform show -json PLAN`.

    Raises:
        TerraformFailed: another major format version.
    """
    version = str(document.get("format_version", ""))
    if version.partition(".")[0] != FORMAT_MAJOR:
        raise TerraformFailed(
            f"plan format {version}, trainrig reads 1.x", hint="use Terraform 1.x, or update trainrig"
        )
    changes = (_change(c) for c in document.get("resource_changes", ()) if c.get("mode") == "managed")
    outputs = document.get("output_changes") or {}
    return TerraformPlan(
        changes=tuple(c for c in changes if c.kind != "no-op"),
        drift=tuple(_drift(c) for c in document.get("resource_drift", ()) if c.get("mode") == "managed"),
        outputs=tuple(sorted(name for name, o in outputs.items() if o["actions"] != ["no-op"])),
    )


def _change(resource: Mapping[str, Any]) -> ResourceChange:
    change = resource["change"]
    return ResourceChange(
        address=resource["address"],
        type=resource["type"],
        kind=_kind(change["actions"]),
        before=redact(change.get("before"), change.get("before_sensitive")),
        after=redact(change.get("after"), change.get("after_sensitive")),
        replace_because=tuple(".".join(map(str, path)) for path in change.get("replace_paths", ())),
    )


def _kind(actions: list[str]) -> Kind:
    match actions:
        case ["create", "delete"] | ["delete", "create"]:
            return "replace"
        case ["create" | "update" | "delete" | "read" | "no-op" | "forget" as kind]:
            return kind
        case _:
            raise TerraformFailed(f"the plan has the unknown action {'+'.join(actions)}", hint="update trainrig")


def _drift(resource: Mapping[str, Any]) -> ResourceDrifted:
    change = _change(resource)
    return ResourceDrifted(
        address=change.address,
        type=change.type,
        id=str((change.before or {}).get("id", change.address)),
        gone=change.kind == "delete",
        changed=change.changed,
    )


def redact(value: Any, sensitive: Any) -> Any:
    """`value` with everything that `sensitive` marks replaced; the mark has the shape of the value, or is true for
    all of it."""
    if sensitive is True:
        return REDACTED
    if isinstance(value, dict) and isinstance(sensitive, dict):
        return {k: redact(v, sensitive.get(k)) for k, v in value.items()}
    if isinstance(value, list) and isinstance(sensitive, list):
        return [redact(v, s) for v, s in zip(value, [*sensitive, *[None] * len(value)], strict=False)]
    return value
