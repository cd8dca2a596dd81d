"""The README of a role, from its meta/argument_specs.yml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROLES = Path(__file__).parents[2] / "ansible" / "roles"


def names() -> list[str]:
    return sorted(p.name for p in ROLES.iterdir() if p.is_dir())


def spec(role: str) -> dict[str, Any]:
    text = (ROLES / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)["argument_specs"]["main"]
    return found


def defaults(role: str) -> dict[str, Any]:
    path = ROLES / role / "defaults" / "main.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) or {} if path.exists() else {}


def readme(role: str) -> str:
    main = spec(role)
    rows = [
        f"| `{name}` | {option['type']} | {_default(option)} | {_words(option)} |"
        for name, option in main["options"].items()
    ]
    table = (
        ["| variable | type | default | meaning |", "| --- | --- | --- | --- |", *rows] if rows else ["No variables."]
    )
    return "\n".join(
        [f"# {role}", "", f"{main['short_description']}.", "", " ".join(main["description"]), "", *table, ""]
    )


def _default(option: dict[str, Any]) -> str:
    if option.get("required"):
        return "required"
    value = option["default"]
    if isinstance(value, (dict, list)) and value:
        return "see defaults/main.yml"
    return "empty" if value in ("", [], {}) else f"`{value}`"


def _words(option: dict[str, Any]) -> str:
    choices = ", ".join(f"`{c}`" for c in option.get("choices", []) if c)
    return str(option["description"]).replace("|", "\\|") + (f" One of {choices}." if choices else "")
