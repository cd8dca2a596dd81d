"""Reads the interface of a Terraform module off its files, and keeps the tables of the modules' READMEs current.

    python tests/support/module_docs.py

It reads what `terraform fmt` writes, and so needs no HCL parser: a block starts and ends at the left margin.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parents[2] / "terraform" / "modules"

_BLOCK = re.compile(r'^(variable|output) "(\w+)" \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_REGION = re.compile(r"(<!-- (inputs|outputs) -->\n).*?(<!-- end -->)", re.DOTALL)
_DESCRIPTION = re.compile(r'^  description = "(.*)"$', re.MULTILINE)
_TYPE = re.compile(r"^  type\s+= (.*?)$(?=\n  \w|\n*\Z|\n\n)", re.MULTILINE | re.DOTALL)
_DEFAULT = re.compile(r"^  default\s+= (.*)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Input:
    name: str
    description: str
    type: str  # with single spaces
    default: str | None  # as written; None: it must be given
    validated: bool


def rig_modules() -> list[Path]:
    """The module folders of all clouds, as far as they are rigs."""
    return sorted(path.parent for path in MODULES.glob("*/variables.tf"))


def inputs(module: Path) -> list[Input]:
    """In the order of variables.tf."""
    found = []
    for kind, name, body in _BLOCK.findall((module / "variables.tf").read_text(encoding="utf-8")):
        assert kind == "variable"
        description, type_, default = _DESCRIPTION.search(body), _TYPE.search(body), _DEFAULT.search(body)
        found.append(
            Input(
                name=name,
                description=description[1].replace('\\"', '"') if description else "",
                type=re.sub(r"\s+", " ", type_[1]).strip() if type_ else "",
                default=default[1] if default else None,
                validated="  validation {" in body,
            )
        )
    return found


def outputs(module: Path) -> dict[str, str]:
    """Name -> description."""
    blocks = _BLOCK.findall((module / "outputs.tf").read_text(encoding="utf-8"))
    return {name: (_DESCRIPTION.search(body) or ["", ""])[1] for _, name, body in blocks}


def readme(module: Path) -> str:
    """The module's README with its tables as they must be."""
    tables = {"inputs": _inputs_table(module), "outputs": _outputs_table(module)}
    text = (module / "README.md").read_text(encoding="utf-8")
    return _REGION.sub(lambda m: f"{m[1]}{tables[m[2]]}{m[3]}", text)


def _inputs_table(module: Path) -> str:
    lines = ["| input | type | default | meaning |", "| --- | --- | --- | --- |"]
    for i in inputs(module):
        default = "required" if i.default is None else f"`{i.default}`"
        lines.append(f"| `{i.name}` | `{i.type}` | {default} | {i.description} |")
    return "\n".join(lines) + "\n"


def _outputs_table(module: Path) -> str:
    rows = [f"| `{name}` | {description} |" for name, description in outputs(module).items()]
    return "\n".join(["| output | meaning |", "| --- | --- |", *rows]) + "\n"


if __name__ == "__main__":
    for folder in rig_modules():
        (folder / "README.md").write_text(readme(folder), encoding="utf-8")
