"""Rebuilds Terraform schemas from the JavaScript that a cdktn-provider wheel carries.

The code generator writes three things that together are the schema of a block:

    // NAME - computed: B, optional: B, required: B        flags of every member, in the class of the block
    NAME: { value: MAPPER, isBlock, type, ... }            what can be set, in `<block>ToHclTerraform`
    get NAME() { return this.getStringAttribute(...) }     the type of what is only computed

What it loses, and so the stand-in does not know: ForceNew, defaults, conflicts, validators, `sensitive`, and limits
above one on the number of blocks.
"""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Type = Any  # a cty type as Terraform's JSON has it: "string", ["list", "string"], ["object", {...}]
Block = dict[str, Any]  # {"attributes": {...}, "block_types": {...}} of `terraform providers schema -json`

_FUNCTION = re.compile(r"^function (\w+)ToHclTerraform\(struct\) \{(.*?)^\}", re.DOTALL | re.MULTILINE)
_CLASS = re.compile(r"^class (\w+) extends (?:[\w$]+\.)?(\w+) \{(.*?)^\}", re.DOTALL | re.MULTILINE)
_FLAGS = re.compile(
    r"^    // (\w+) - computed: (true|false), optional: (true|false), required: (true|false)\n"
    r"(.*?)(?=^    // \w+ - computed:|\Z)",
    re.DOTALL | re.MULTILINE,
)
_SETTABLE = re.compile(
    r'^\s+"?(\w+)"?: \{\s*value: (.*?),\s*isBlock: (true|false),\s*type: "(\w+)",', re.DOTALL | re.MULTILINE
)
_LIST_MAPPER = re.compile(r"listMapperHcl\(\w+ToHclTerraform, (true|false)\)")
_TOP_LEVEL = ("TerraformResource", "TerraformDataSource", "TerraformProvider")
_SCALAR = {"string": "string", "number": "number", "boolean": "bool", "any": "dynamic"}
_GETTER = {
    "String": "string",
    "Number": "number",
    "Boolean": "bool",
    "List": ["list", "string"],
    "NumberList": ["list", "number"],
    "StringMap": ["map", "string"],
    "NumberMap": ["map", "number"],
    "BooleanMap": ["map", "bool"],
}


def folder_of(name: str, *, data: bool = False) -> str:
    """`aws_launch_template` -> `launch-template`; as a data source -> `data-aws-launch-template`."""
    return ("data-" + name if data else name.partition("_")[2]).replace("_", "-")


def sources(wheel: Path, folders: Iterable[str]) -> dict[str, str]:
    """The JavaScript of each folder of a wheel: the wheel is a zip, in it is a tar, in that is lib/FOLDER/*.js."""
    wanted = set(folders)
    found: dict[str, str] = {}
    with zipfile.ZipFile(wheel) as archive:
        inner = archive.read(next(n for n in archive.namelist() if n.endswith(".jsii.tgz")))
    with tarfile.open(fileobj=io.BytesIO(inner), mode="r:gz") as tar:
        for member in tar:
            parts = member.name.split("/")
            if len(parts) < 4 or parts[2] not in wanted or not member.name.endswith(".js"):
                continue
            stream = tar.extractfile(member)
            assert stream is not None
            found[parts[2]] = found.get(parts[2], "") + stream.read().decode() + "\n"
    if missing := wanted - set(found):
        raise KeyError(f"{wheel.name} has no {', '.join(sorted(missing))}")
    return found


def schema(javascript: str) -> dict[str, Any]:
    """The schema of the resource, data source or provider that a folder defines."""
    return {"version": 0, "block": _Source(javascript).top()}


class _Source:
    def __init__(self, text: str) -> None:
        self.functions = {m[1]: m[2] for m in _FUNCTION.finditer(text)}
        self.classes = {m[1]: (m[2], m[3]) for m in _CLASS.finditer(text)}

    def top(self) -> Block:
        name = next(n for n, (base, _) in self.classes.items() if base in _TOP_LEVEL)
        body = self.classes[name][1]
        return self._block(name, body[body.index("synthesizeHclAttributes()") :])

    def _block(self, class_name: str, settable: str) -> Block:
        attributes: dict[str, Any] = {}
        blocks: dict[str, Any] = {}
        can_set = {m[1]: (m[2], m[3] == "true", m[4]) for m in _SETTABLE.finditer(settable)}
        members = {m[1]: m for m in _FLAGS.finditer(self.classes.get(class_name, ("", ""))[1])}
        for name in {**members, **can_set}:
            flags = members.get(name)
            computed, optional, required = (flags[i] == "true" for i in (2, 3, 4)) if flags else (False, True, False)
            if name in can_set and can_set[name][1] and (block := self._nested(*can_set[name], required=required)):
                blocks[name] = block
                continue
            type_ = self._settable_type(*can_set[name]) if name in can_set else self._computed_type(name, flags)
            attributes[name] = {"type": type_, **_only_true(required=required, optional=optional, computed=computed)}
        return {"attributes": attributes, **({"block_types": blocks} if blocks else {})}

    def _nested(self, mapper: str, _is_block: bool, kind: str, *, required: bool) -> dict[str, Any] | None:
        """A nested block, or None for an attribute that is only written like one (`ingress = [{...}]`)."""
        many = _LIST_MAPPER.search(mapper)
        if "hashMapperHcl" in mapper or (many and many[1] == "false"):
            return None
        block = self._struct(_function_in(mapper))
        if kind == "struct":
            return {"nesting_mode": "single", "block": block}
        limits = {"min_items": 1} if required else {}
        return {"nesting_mode": kind, "block": block, **limits, **({} if many else {"max_items": 1})}

    def _struct(self, function: str) -> Block:
        return self._block(_class_of(function) + "OutputReference", self.functions.get(function, ""))

    def _settable_type(self, mapper: str, is_block: bool, kind: str) -> Type:
        if is_block:
            return ["map" if "hashMapperHcl" in mapper else kind, _object(self._struct(_function_in(mapper)))]
        return self._mapper_type(mapper, kind)

    def _mapper_type(self, mapper: str, kind: str) -> Type:
        expression = re.sub(r"^[\w.]+ === undefined \? null : ", "", mapper.strip())
        expression = re.sub(r"\b\w+\.(?=\w+(?:HclTerraform|MapperHcl))", "", expression).strip()
        if m := re.match(r"(list|hash)MapperHcl\((.*)", expression, re.DOTALL):
            collection = "map" if m[1] == "hash" else "set" if kind == "set" else "list"
            return [collection, self._mapper_type(m[2], "")]
        if m := re.match(r"(string|number|boolean|any)ToHclTerraform", expression):
            return _SCALAR[m[1]]
        if m := re.match(r"(\w+)ToHclTerraform", expression):
            return _object(self._struct(m[1]))
        return "dynamic"

    def _computed_type(self, name: str, flags: re.Match[str] | None) -> Type:
        code = flags[5] if flags else ""
        if m := re.search(rf'new (?:[\w$]+\.)?(\w+)\(this, "{name}"(?:, (true|false))?\)', code):
            helper, is_set = m[1], m[2] == "true"
            if m := re.fullmatch(r"(String|Number|Boolean)Map(List)?", helper):
                mapping = ["map", _SCALAR[m[1].lower()]]
                return ["list", mapping] if m[2] else mapping
            many = "set" if is_set else "list"
            for suffix, collection in (("OutputReference", None), ("Map", "map"), ("List", many)):
                if helper.endswith(suffix):
                    struct = helper.removesuffix(suffix)
                    inner = _object(self._struct(struct[0].lower() + struct[1:]))
                    return [collection, inner] if collection else inner
        getter = re.search(r"this\.get(\w+)Attribute\(", code)
        type_: Type = _GETTER.get(getter[1], "dynamic") if getter else "dynamic"
        return ["set", type_[1]] if "Fn.tolist" in code and type_[0] == "list" else type_


def _function_in(mapper: str) -> str:
    found = re.search(r"(\w+)ToHclTerraform", mapper)
    assert found is not None, mapper
    return found[1]


def _class_of(function: str) -> str:
    return function[0].upper() + function[1:]


def _object(block: Block) -> Type:
    members = {name: a["type"] for name, a in block["attributes"].items()}
    for name, nested in block.get("block_types", {}).items():
        inner = _object(nested["block"])
        members[name] = inner if nested["nesting_mode"] == "single" else [nested["nesting_mode"], inner]
    return ["object", members]


def _only_true(**flags: bool) -> dict[str, bool]:
    # A required attribute is neither optional nor computed, whatever the generator's comment says.
    return {"required": True} if flags["required"] else {name: True for name, value in flags.items() if value}
