"""`accelerators` in all its forms: `A100:8`, {A100: 8}, [A100:8, H100:8], {A100:8, H100:8}, `NVIDIA:80GB+:8`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from trainrig.catalog.normalise import canonical
from trainrig.errors import Position
from trainrig.model.job import GpuRequest
from trainrig.spec.forms import size_gib
from trainrig.spec.nodes import Bad, Map, Node, Scalar, Seq, each, kind, position
from trainrig.spec.scalars import is_null, number_text, scalar
from trainrig.spec.tables import Form

_MEMORY: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[GMT]i?B?)\+?\Z", re.IGNORECASE)
_NAME: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9_.-]| (?=[A-Za-z0-9])){0,60}\Z")
_VENDOR: Final = re.compile(r"[A-Za-z]{2,20}\Z")
_COUNT: Final = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4})?\Z")
MAX_GPUS: Final = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Accelerators:
    """`listed`: written as a list, so that the order is one of preference."""

    requests: tuple[GpuRequest, ...]
    listed: bool = False


def _read(node: Node) -> Accelerators:
    match node:
        case Seq():
            if not node.items:
                raise Bad(node, "an empty list of accelerators", "leave the key out for a machine without a GPU")
            return Accelerators(requests=tuple(each(node.items, _one)), listed=True)
        case Map():
            if not node.entries:
                raise Bad(node, "an empty set of accelerators", "leave the key out for a machine without a GPU")
            return Accelerators(
                requests=tuple(each(node, lambda pair: _one(pair[0], None if is_null(pair[1]) else pair[1])))
            )
        case Scalar():
            return Accelerators(requests=(_one(node),))


def _one(node: Node, count_node: Node | None = None) -> GpuRequest:
    word = scalar(node, "an accelerator such as A100:8").text.strip()
    if word.lower().startswith("tpu"):
        raise Bad(node, f"`{word}` is not supported: trainrig rents GPUs, and a TPU is not one")
    parts = [part.strip() for part in word.split(":")]
    vendor = parts.pop(0) if len(parts) > 1 and _MEMORY.match(parts[1]) and _VENDOR.match(parts[0]) else None
    what = parts.pop(0)
    if len(parts) > 1 or (parts and count_node is not None):
        raise Bad(node, f"`{word}` is not an accelerator and a count", "write NAME:COUNT, as in A100:8")
    count = 1
    if count_node is not None:
        count = _count(number_text(count_node, "a number of GPUs"), count_node)
    elif parts:
        count = _count(parts[0], node)
    if _MEMORY.match(what):
        at = Scalar(text=what, plain=False, source=node.source, line=node.line, column=node.column)
        return GpuRequest(count=count, memory_gib=size_gib(at), vendor=vendor.upper() if vendor else None)
    if not _NAME.match(what):
        hint = "a GPU's name such as A100-80GB, or its memory such as 80GB+"
        raise Bad(node, f"an accelerator such as A100:8 is wanted here, not {kind(node)}", hint)
    return GpuRequest(count=count, name=canonical(what))


def where_named(node: Node, name: str) -> Position | None:
    """Where a job file asks for a GPU by this (canonical) name."""
    match node:
        case Map():
            for key, value in node:
                found = _among(value, name) if key.text in {"accelerators", "gpus"} else where_named(value, name)
                if found is not None:
                    return found
        case Seq():
            return next((found for item in node.items if (found := where_named(item, name)) is not None), None)
        case Scalar():
            pass
    return None


def _among(node: Node, name: str) -> Position | None:
    words: tuple[Node, ...] = (node,)
    if isinstance(node, Map):
        words = tuple(key for key, _ in node)
    elif isinstance(node, Seq):
        words = node.items
    named = (w for w in words if isinstance(w, Scalar) and canonical(w.text.strip().split(":")[0]) == name)
    return next((position(w) for w in named), None)


def _count(text: str, node: Node) -> int:
    """Whole GPUs: half a GPU is had by renting one."""
    if not _COUNT.match(text) or not 0 < float(text) <= MAX_GPUS:
        raise Bad(node, f"`{text}` is not a number of GPUs", f"more than 0 and at most {MAX_GPUS} a node")
    return math.ceil(float(text))


ACCELERATORS: Final = Form(
    read=_read,
    shows="`A100:8`; `{A100:8, H100:8}` any of; `[A100:8, H100:8]` in this order; `80GB+:8`; `NVIDIA:80GB+`",
    schema={"type": ["string", "object", "array"]},
)
