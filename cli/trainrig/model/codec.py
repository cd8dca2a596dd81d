"""Model objects out of JSON values again, by their type hints alone."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def build(cls: type[T], document: Mapping[str, Any]) -> T:
    """The dataclass `cls` from what render/job_document.py `plain` made of it. Unknown keys are left out, so that an
    older trainrig reads what a newer one wrote as far as it can.

    Raises:
        KeyError, TypeError, ValueError: the document is not one of `cls`.
    """
    hints = _hints(cls)
    return cls(**{k: _value(hints[k], v) for k, v in document.items() if k in hints})


def _hints(cls: Any) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in fields(cls)}


def _value(hint: Any, value: Any) -> Any:
    origin = get_origin(hint)
    if origin in {Union, types.UnionType}:
        if value is None:
            return None
        return _value(next(a for a in get_args(hint) if a is not type(None)), value)
    if origin is tuple:
        element = get_args(hint)[0]
        return tuple(_value(element, v) for v in value)
    if origin is not None and origin is not Literal and issubclass(origin, Mapping):
        element = get_args(hint)[1]
        return {k: _value(element, v) for k, v in value.items()}
    if origin is not None or hint is Any:
        return value
    if is_dataclass(hint):
        return build(cast("type[Any]", hint), value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if hint is Decimal:
        return Decimal(value)
    if hint is datetime:
        return datetime.fromisoformat(value)
    return value
