"""Which resources a rendered root makes, worked out without its providers.

`count` and `for_each` of our modules hang on variables and locals alone. So Terraform itself can evaluate them in a
root that holds nothing else: no provider, no network, no credentials. What hangs on more is said to be unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trainrig.render.late_bound import TFVARS

OUTPUT = "instances"
_MODULE = "module/"
_RESOURCE = re.compile(r'^resource "([a-z0-9_]+)" "([a-z0-9_]+)" \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_REPEAT = re.compile(r"^  (count|for_each) +?= (.+)$", re.MULTILINE)
_LOCALS = re.compile(r"^locals \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_LOCAL = re.compile(r"^  ([a-z0-9_]+) += ", re.MULTILINE)
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_USES = re.compile(r"\blocal\.([a-z0-9_]+)")
# A reference to a resource, a data source or a module: known only to a provider.
_FOREIGN = re.compile(r"(?<![\w.])(?!var\.|local\.|each\.|path\.)(data|module|[a-z0-9]+_[a-z0-9_]+)\.[a-z]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A resource block; `repeat` is "count", "for_each" or None, `expression` what it is set to."""

    type: str
    name: str
    repeat: str | None
    expression: str

    @property
    def address(self) -> str:
        return f"{self.type}.{self.name}"


def blocks(files: Mapping[str, str]) -> tuple[Block, ...]:
    found = []
    for path, text in sorted(files.items()):
        if not (path.startswith(_MODULE) and path.endswith(".tf")):
            continue
        for type_, name, body in _RESOURCE.findall(text):
            repeat = _REPEAT.search(body)
            found.append(
                Block(
                    type=type_,
                    name=name,
                    repeat=repeat[1] if repeat else None,
                    expression=repeat[2] if repeat else "",
                )
            )
    return tuple(found)


def evaluation_root(files: Mapping[str, str]) -> dict[str, str]:
    """A root without resources whose output is what each block's `count` or `for_each` comes to."""
    known = _locals(files)
    outputs, used = [], set()
    for block in blocks(files):
        needed = _closure(block.expression, known)
        if block.repeat is None or needed is None:
            continue
        used |= needed
        value = block.expression if block.repeat == "count" else f"[for key, _ in {block.expression} : key]"
        outputs.append(f'    "{block.address}" = {value}\n')
    values = "".join(f"  {name} = {known[name]}\n" for name in sorted(used))
    beside = {p.removeprefix(_MODULE): t for p, t in files.items() if p.startswith(_MODULE) and not p.endswith(".tf")}
    return {
        **beside,
        "variables.tf": files["variables.tf"],
        TFVARS: files[TFVARS],
        "main.tf": f'locals {{\n{values}}}\noutput "{OUTPUT}" {{\n  value = {{\n{"".join(outputs)}  }}\n}}\n',
    }


def _locals(files: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path, text in files.items():
        if path.startswith(_MODULE) and path.endswith(".tf"):
            for body in _LOCALS.findall(_COMMENT.sub("", text)):
                marks = list(_LOCAL.finditer(body))
                ends = [m.start() for m in marks[1:]] + [len(body)]
                found |= {m[1]: body[m.end() : end].strip() for m, end in zip(marks, ends, strict=True)}
    return found


def _closure(expression: str, known: Mapping[str, str]) -> set[str] | None:
    """The locals that an expression needs; None when it needs what only a provider knows."""
    needed: set[str] = set()
    waiting = [expression]
    while waiting:
        text = waiting.pop()
        if _FOREIGN.search(text):
            return None
        for name in set(_USES.findall(text)) - needed:
            if name not in known:
                return None
            needed.add(name)
            waiting.append(known[name])
    return needed


def instances(block: Block, values: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Addresses of the instances of a block, inside `module.rig`; None: not known."""
    base = f"module.rig.{block.address}"
    if block.repeat is None:
        return (base,)
    value = values.get(block.address)
    if value is None:
        return None
    keys = range(int(value)) if block.repeat == "count" else value
    return tuple(f"{base}[{json.dumps(key)}]" for key in keys)
