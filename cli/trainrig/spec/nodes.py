"""YAML as a tree in which everything knows where it was written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeVar

from trainrig.errors import Position, Problem

Item = TypeVar("Item")
T = TypeVar("T")

UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\ud800-\udfff\ufffe\uffff]")
_WIDEST: Final = 400  # a caret further to the right than this helps nobody
MAX_PROBLEMS: Final = 50  # of one file; what follows is not worth the time
_AFTER: Final = 100  # characters of the line that are shown after the caret


@lru_cache(maxsize=4)
def _lines(text: str) -> list[str]:
    """Not splitlines(): YAML counts lines by newlines alone, and so do editors."""
    return text.split("\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where nodes come from: a file with its text, or a name such as `--set` with what was typed."""

    file: str
    text: str = field(default="", repr=False)

    def line(self, number: int) -> str:
        """Counts from 1; empty where there is none."""
        lines = _lines(self.text)
        return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else ""

    def at(self, line: int, column: int) -> Position:
        """`line` and `column` count from 1."""
        shown = self.line(line)
        shown = UNPRINTABLE.sub("\ufffd", shown[: column + _AFTER]) if column <= _WIDEST else ""
        return Position(file=self.file, line=line, column=column, text=shown)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scalar:
    """`plain`: written without quotes and not as a block, so YAML gives it a type by its looks."""

    text: str
    plain: bool
    source: Source = field(repr=False)
    line: int = 1
    column: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Seq:
    items: tuple[Node, ...]
    source: Source = field(repr=False)
    line: int = 1
    column: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Map:
    """Keys are unique, merge keys are merged."""

    entries: tuple[tuple[Scalar, Node], ...]
    source: Source = field(repr=False)
    line: int = 1
    column: int = 1

    def __iter__(self) -> Iterator[tuple[Scalar, Node]]:
        return iter(self.entries)

    def get(self, name: str) -> Node | None:
        return next((value for key, value in self.entries if key.text == name), None)

    def key(self, name: str) -> Scalar | None:
        return next((key for key, _ in self.entries if key.text == name), None)


Node = Scalar | Seq | Map


def position(node: Node) -> Position:
    return node.source.at(node.line, node.column)


def problem(node: Node, message: str, hint: str = "") -> Problem:
    return Problem(message=message, where=position(node), hint=hint)


class Bad(ValueError):
    """A value that its key does not take. Caught by the table that reads the key; never leaves this package."""

    def __init__(self, node: Node, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.problems = [problem(node, message, hint)]


def each(items: Iterable[Item], read: Callable[[Item], T]) -> list[T]:
    """All items read; when some are wrong, one Bad with the problems of all of them."""
    values: list[T] = []
    wrong: Bad | None = None
    for item in items:
        try:
            values.append(read(item))
        except Bad as bad:
            if wrong is None:
                wrong = bad
            elif len(wrong.problems) <= MAX_PROBLEMS:
                wrong.problems += bad.problems
    if wrong is not None:
        raise wrong
    return values


def kind(node: Node) -> str:
    """What a person calls it."""
    match node:
        case Map():
            return "a mapping"
        case Seq():
            return "a list"
        case Scalar(plain=True, text=""):
            return "nothing"
        case Scalar():
            return f"`{node.text}`" if len(node.text) <= 40 and "\n" not in node.text else "text"


def from_plain(value: Any, source: Source) -> Node:
    """Nodes for data that did not come from YAML text: flags and an environment's defaults."""
    match value:
        case dict():
            entries = tuple(
                (Scalar(text=str(k), plain=False, source=source), from_plain(v, source)) for k, v in value.items()
            )
            return Map(entries=entries, source=source)
        case list() | tuple():
            return Seq(items=tuple(from_plain(v, source) for v in value), source=source)
        case None:
            return Scalar(text="", plain=True, source=source)
        case bool():
            return Scalar(text=str(value).lower(), plain=True, source=source)
        case str():
            return Scalar(text=value, plain=False, source=source)
        case _:
            return Scalar(text=str(value), plain=True, source=source)


def to_plain(node: Node) -> Any:
    """The tree as data for JSON: plain scalars typed, everything else text."""
    from trainrig.spec.scalars import typed

    match node:
        case Map():
            return {key.text: to_plain(value) for key, value in node}
        case Seq():
            return [to_plain(item) for item in node.items]
        case Scalar():
            return typed(node)


def find_scalar(node: Node, keys: tuple[str, ...], beginning: str) -> Position | None:
    """Where a value of one of `keys` begins with a word, in any case."""
    match node:
        case Map():
            for key, value in node:
                if key.text in keys and isinstance(value, Scalar) and value.text.lower().startswith(beginning):
                    return position(value)
                if (found := find_scalar(value, keys, beginning)) is not None:
                    return found
        case Seq():
            for item in node.items:
                if (found := find_scalar(item, keys, beginning)) is not None:
                    return found
        case Scalar():
            pass
    return None
