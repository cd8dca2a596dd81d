"""Writes what is made from the schemas of job files and environments: the tables of docs/job-file.md and
docs/environments.md, and the JSON Schemas for editors. Run it after a change: python tests/support/spec_docs.py"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from trainrig.spec import environment_schema, schema, survival
from trainrig.spec.mounts import BUCKET
from trainrig.spec.resources import JOB_RECOVERY, OPTION, RESOURCES
from trainrig.spec.tables import Key, Table

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "cli/trainrig/data/schemas"
PAGES = (ROOT / "docs/job-file.md", ROOT / "docs/environments.md")
_REGION = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

TABLES: dict[str, Table] = {
    "job": schema.JOB,
    "resources": RESOURCES,
    "job-recovery": JOB_RECOVERY,
    "config": schema.CONFIG,
    "docker": schema.DOCKER,
    "mount": BUCKET,
    "workdir": schema.WORKDIR,
    "checkpoints": survival.CHECKPOINTS,
    "placement": schema.PLACEMENT,
    "pins": schema.PINS,
    "recovery": survival.RECOVERY,
    "move": survival.MOVE,
    "guards": survival.GUARDS,
    "guards-idle": survival.IDLE,
    "guards-disk": survival.DISK_USE,
    "notify": survival.NOTIFY,
    "environment": environment_schema.ENVIRONMENT,
    "cloud": environment_schema.CLOUD_POLICY,
    "account-aws": environment_schema.ACCOUNTS["aws"],
    "account-gcp": environment_schema.ACCOUNTS["gcp"],
    "account-azure": environment_schema.ACCOUNTS["azure"],
    "credits": environment_schema.CREDITS,
    "state": environment_schema.STATE,
    "budget": environment_schema.BUDGET,
}


def markdown(table: Table) -> str:
    """Keys, forms and meanings; `own` marks what SkyPilot does not have."""
    with_origin = any(k.origin == "trainrig" for k in table.keys)
    head = "| key | form | meaning |" + (" own |" if with_origin else "")
    lines = [head, "| --- | --- | --- |" + (" --- |" if with_origin else "")]
    lines += [_row(key, with_origin) for key in table.keys]
    if table.refused:
        named = {n: r for n, r in table.refused.items() if not n.startswith("_")}
        lines += ["", "Refused by name:", "", "| key | reason |", "| --- | --- |"]
        lines += [f"| `{table.path}{name}` | {reason} |" for name, reason in named.items()]
    return "\n".join(lines) + "\n"


def _row(key: Key, with_origin: bool) -> str:
    shows = "mapping, see below" if isinstance(key.form, Table) else key.form.shows
    if isinstance(key.form, Table) and key.form.short:
        shows = f"{key.form.short.shows}, or a mapping"
    names = f"`{key.name}`" + (f", `{key.alias}`" if key.alias else "")
    needed = " (required)" if key.required else ""
    cells = [names, shows, key.meaning + needed] + ([" yes" if key.origin == "trainrig" else ""] if with_origin else [])
    return "| " + " | ".join(cell.replace("|", "\\|").strip() for cell in cells) + " |"


def json_schema(table: Table) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for key in table.keys:
        described = {**_schema_of(key), "description": key.meaning.replace("`", "")}
        properties |= {name: described for name in (key.name, key.alias) if name}
    document: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": properties}
    if required := [k.name for k in table.keys if k.required]:
        document["required"] = required
    return document if table.short is None else {"anyOf": [dict(table.short.schema), document]}


def _schema_of(key: Key) -> dict[str, Any]:
    return json_schema(key.form) if isinstance(key.form, Table) else dict(key.form.schema)


def documents() -> dict[Path, str]:
    """File -> text as it must be."""
    definitions = {"resources": json_schema(RESOURCES), "option": json_schema(OPTION), "mount": json_schema(BUCKET)}
    job = json_schema(schema.JOB)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schemas = {
        "job": {**head, "title": "trainrig job file", **job, "$defs": definitions},
        "environment": {
            **head,
            "title": "trainrig environment",
            **json_schema(environment_schema.ENVIRONMENT),
            "$defs": {**definitions, "job": job, "cloud": json_schema(environment_schema.CLOUD_POLICY)},
        },
    }
    found = {
        SCHEMAS / f"{n}.schema.json": json.dumps(s, indent=2, ensure_ascii=False) + "\n" for n, s in schemas.items()
    }
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found[page] = _REGION.sub(lambda m: m[1] + markdown(TABLES[m[2]]) + m[3], text)
    return found


if __name__ == "__main__":
    for path, wanted in documents().items():
        path.write_text(wanted, encoding="utf-8")
