"""What both Terraform resources share: how attributes are declared, and how failures become diagnostics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from tf.iface import Resource
from tf.schema import Attribute
from tf.types import TfType

from trainrig.errors import RigError
from trainrig.localcloud.engine import Engine

State = dict[str, Any]
SCHEMA_VERSION = 1


class HasEngine(Protocol):
    """The provider, as its resources see it."""

    def engine(self) -> Engine: ...


class DockerResource(Resource):  # type: ignore[misc]  # tf has no type information
    def __init__(self, provider: HasEngine) -> None:
        self.provider = provider

    @property
    def engine(self) -> Engine:
        return self.provider.engine()


def wanted(name: str, kind: TfType, description: str) -> Attribute:
    """Given by the configuration; another value means another resource."""
    return Attribute(name, kind, description, required=True, requires_replace=True)


def computed(name: str, kind: TfType, description: str) -> Attribute:
    return Attribute(name, kind, description, computed=True)


@contextmanager
def reported(ctx: Any, what: str) -> Iterator[None]:
    """An exception here would lose the state of what exists already, so every failure becomes a diagnostic."""
    try:
        yield
    except RigError as error:
        ctx.diagnostics.add_error(f"{what}: {error.message.splitlines()[0]}", _detail(error))
    except Exception as error:  # noqa: BLE001
        ctx.diagnostics.add_error(f"{what}: {type(error).__name__}", str(error))


def _detail(error: RigError) -> str:
    return f"{error.message}\nhint: {error.hint}" if error.hint else error.message
