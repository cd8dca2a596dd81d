"""Between Terraform's plugin protocol 6 and plain Python: schemas, values, diagnostics."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tf.gen import tfplugin_pb2 as pb
from tf.types import Unknown
from tf.utils import read_dynamic_value, to_dynamic_value

Block = Mapping[str, Any]
Value = dict[str, Any]
Leaf = Callable[[str, Mapping[str, Any], Any], Any]  # (name, attribute's schema, value) -> value

_NESTING = {"single": 1, "list": 2, "set": 3, "map": 4, "group": 5}

read = read_dynamic_value
write = to_dynamic_value


def schema(document: Mapping[str, Any]) -> pb.Schema:
    return pb.Schema(version=document["version"], block=_block(document["block"]))


def _block(block: Block) -> pb.Schema.Block:
    return pb.Schema.Block(
        attributes=_attributes(block["attributes"]),
        block_types=[
            pb.Schema.NestedBlock(
                type_name=name,
                block=_block(n["block"]),
                nesting=_NESTING[n["nesting_mode"]],
                min_items=n.get("min_items", 0),
                max_items=n.get("max_items", 0),
            )
            for name, n in block.get("block_types", {}).items()
        ],
    )


def _attributes(attributes: Mapping[str, Any]) -> list[Any]:
    found = []
    for name, a in attributes.items():
        flags = {flag: a.get(flag, False) for flag in ("required", "optional", "computed", "sensitive")}
        nested = a.get("nested_type")
        if nested:
            inner = pb.Schema.Object(
                attributes=_attributes(nested["attributes"]), nesting=_NESTING[nested["nesting_mode"]]
            )
            found.append(pb.Schema.Attribute(name=name, nested_type=inner, **flags))
        else:
            found.append(pb.Schema.Attribute(name=name, type=json.dumps(a["type"]).encode(), **flags))
    return found


def error(summary: str, *path: str) -> pb.Diagnostic:
    diagnostic = pb.Diagnostic(severity=pb.Diagnostic.ERROR, summary=summary)
    if path:
        diagnostic.attribute.CopyFrom(attribute_path(*path))
    return diagnostic


def attribute_path(*names: str) -> pb.AttributePath:
    return pb.AttributePath(steps=[pb.AttributePath.Step(attribute_name=name) for name in names])


def rebuild(block: Block, value: Value, leaf: Leaf) -> Value:
    """The value of a block with every attribute decided by `leaf`, in nested blocks and nested attributes too."""
    out = {name: _rebuilt(name, a, value.get(name), leaf) for name, a in block["attributes"].items()}
    for name, nested in block.get("block_types", {}).items():
        inner = value.get(name)
        if inner is None or inner is Unknown:
            out[name] = [] if inner is None and nested["nesting_mode"] != "single" else inner
        elif nested["nesting_mode"] == "single":
            out[name] = rebuild(nested["block"], inner, leaf)
        else:
            out[name] = [rebuild(nested["block"], item, leaf) for item in inner]
    return out


def _rebuilt(name: str, attribute: Mapping[str, Any], value: Any, leaf: Leaf) -> Any:
    nested = attribute.get("nested_type")
    if nested is None or value is None or value is Unknown:
        return leaf(name, attribute, value)
    if nested["nesting_mode"] == "single":
        return rebuild(nested, value, leaf)
    return [rebuild(nested, item, leaf) for item in value]


def known(value: Any) -> Any:
    """`value` with everything that is not known yet as None, for rules that look into it."""
    if value is Unknown:
        return None
    if isinstance(value, dict):
        return {k: known(v) for k, v in value.items()}
    return [known(v) for v in value] if isinstance(value, list) else value
