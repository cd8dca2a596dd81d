"""Terraform's machine-readable output (`-json`), typed. Decisions are made from these, never from text for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from trainrig.errors import TerraformFailed

UI_MAJOR = "1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    terraform: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedChange:
    address: str
    type: str
    action: str  # create, update, delete, replace, read, move, import, ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceDrift:
    address: str
    type: str
    action: str  # update, delete


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeSummary:
    operation: str  # plan, apply, destroy
    add: int
    change: int
    remove: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Apply:
    """One step of one resource. `id` is the cloud's own, where Terraform says it."""

    step: Literal["start", "progress", "complete", "errored"]
    address: str
    type: str
    action: str
    elapsed_seconds: float = 0
    id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnostic:
    severity: str  # error, warning
    summary: str
    detail: str = ""
    address: str | None = None  # the resource it is about
    file: str | None = None
    line: int | None = None

    @property
    def text(self) -> str:
        return f"{self.summary}\n{self.detail}".strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class Outputs:
    """Values by name; those that Terraform holds sensitive are left out."""

    values: Mapping[str, Any]


TerraformEvent = Version | PlannedChange | ResourceDrift | ChangeSummary | Apply | Diagnostic | Outputs


def parse(line: str) -> TerraformEvent | None:
    """One line of the stream; None for what is not JSON, or of a type that we do not use.

    Raises:
        TerraformFailed: the stream has another major version than the one that this file was written for.
    """
    if not line.startswith("{"):
        return None
    try:
        message = json.loads(line)
    except ValueError:
        return None
    match message.get("type"):
        case "version":
            ui = str(message.get("ui", ""))
            if ui.partition(".")[0] != UI_MAJOR:
                raise TerraformFailed(
                    f"Terraform {message.get('terraform')} speaks version {ui} of its JSON output, trainrig reads 1.x",
                    hint="use Terraform 1.x, or update trainrig",
                )
            return Version(terraform=str(message.get("terraform") or message.get("tofu", "")))
        case "planned_change":
            change = message["change"]
            return PlannedChange(**_resource(change), action=change["action"])
        case "resource_drift":
            change = message["change"]
            return ResourceDrift(**_resource(change), action=change["action"])
        case "change_summary":
            changes = message["changes"]
            return ChangeSummary(
                operation=changes["operation"], add=changes["add"], change=changes["change"], remove=changes["remove"]
            )
        case "apply_start" | "apply_progress" | "apply_complete" | "apply_errored" as kind:
            hook = message["hook"]
            return Apply(
                step=kind.removeprefix("apply_"),
                **_resource(hook),
                action=hook.get("action", ""),
                elapsed_seconds=hook.get("elapsed_seconds", 0),
                id=hook.get("id_value"),
            )
        case "diagnostic":
            return diagnostic(message["diagnostic"])
        case "outputs":
            outputs = message["outputs"]
            return Outputs(values={k: v["value"] for k, v in outputs.items() if "value" in v and not v["sensitive"]})
        case _:
            return None


def diagnostic(message: Mapping[str, Any]) -> Diagnostic:
    """A diagnostic object, as the stream and `validate -json` carry it."""
    place = message.get("range") or {}
    return Diagnostic(
        severity=message.get("severity", "error"),
        summary=message.get("summary", ""),
        detail=message.get("detail", ""),
        address=message.get("address"),
        file=place.get("filename"),
        line=(place.get("start") or {}).get("line"),
    )


def _resource(change: Mapping[str, Any]) -> dict[str, str]:
    resource = change["resource"]
    return {"address": resource["addr"], "type": resource["resource_type"]}
