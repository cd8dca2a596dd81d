"""The little language that schemas are written in: a Form reads one value, a Table reads a mapping of known keys.

Readers raise `Bad` at the value that is wrong; a table catches it, notes it and goes on with the next key, so that one
look at a file finds all that is wrong with it. Forms and tables also describe themselves: docs/job-file.md and the JSON
Schema for editors are made from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from trainrig.errors import Problem
from trainrig.spec.nodes import MAX_PROBLEMS, Bad, Map, Node, Seq, each, kind, problem
from trainrig.spec.scalars import is_null, string

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Form(Generic[T]):
    """`shows` is what the documentation prints; `schema` is JSON Schema."""

    read: Callable[[Node], T]
    shows: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """`form` reads the value; a `Table` instead makes it a nested mapping."""

    name: str
    form: Form[Any] | Table
    meaning: str
    required: bool = False
    origin: Literal["skypilot", "trainrig"] = "skypilot"
    alias: str | None = None  # another spelling of the same key


@dataclass(frozen=True, kw_only=True, slots=True)
class Values:
    """What a table read: value by key, and the node it came from, for what is found out later."""

    node: Map
    given: Mapping[str, Any]

    def get(self, name: str, default: Any = None) -> Any:
        value = self.given.get(name)
        return default if value is None else value

    def at(self, name: str) -> Node:
        return self.node.get(name) or self.node

    def __contains__(self, name: str) -> bool:
        return self.given.get(name) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """`refused` names keys that others have and we do not, with the reason in words."""

    title: str
    keys: tuple[Key, ...]
    refused: Mapping[str, str] = field(default_factory=dict)
    path: str = ""  # before a refused key's name: `config.`
    short: Form[Any] | None = None  # another form that the whole may take, read into the key named `short_key`
    short_key: str = ""

    def read(self, node: Node, problems: list[Problem]) -> Values:
        """Reads what it can; what it cannot read is in `problems` and not in the result."""
        if self.short and not isinstance(node, Map):
            values = {self.short_key: take(self.short, node, problems)}
            return Values(node=Map(entries=(), source=node.source, line=node.line, column=node.column), given=values)
        if not isinstance(node, Map):
            problems.append(problem(node, f"{self.title} must be a mapping of keys, not {kind(node)}"))
            return Values(node=Map(entries=(), source=node.source, line=node.line, column=node.column), given={})
        known = {k.name: k for k in self.keys} | {k.alias: k for k in self.keys if k.alias}
        given: dict[str, Any] = {}
        for name, value in node:
            if len(problems) > MAX_PROBLEMS:
                break
            key = known.get(name.text)
            if is_null(value) and (key is not None or name.text in self.refused):
                continue  # as if it were not there
            if key is None:
                problems.append(self._unknown(name))
            elif key.name in given and key.alias:
                problems.append(problem(name, f"`{key.name}` and `{key.alias}` are the same key", "give one of them"))
            elif isinstance(key.form, Table):
                given[key.name] = key.form.read(value, problems)
            else:
                given[key.name] = take(key.form, value, problems)
        problems.extend(
            problem(node, f"{self.title} needs the key `{key.name}`", key.meaning)
            for key in self.keys
            if key.required and _empty(node.get(key.name))
        )
        return Values(node=node, given=given)

    def _unknown(self, name: Any) -> Problem:
        if (reason := self.refused.get(name.text)) is not None:
            return problem(name, f"`{self.path}{name.text}` is not supported: {reason}")
        names = [k.name for k in self.keys]
        return problem(name, f"unknown key `{name.text}` in {self.title}", did_you_mean(name.text, names))


def _empty(node: Node | None) -> bool:
    return node is None or is_null(node)


def take(form: Form[T], node: Node, problems: list[Problem]) -> T | None:
    """The value, or None and a noted problem."""
    try:
        return form.read(node)
    except Bad as bad:
        problems.extend(bad.problems)
        return None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint for a word that is not one of `known`."""
    from difflib import get_close_matches

    names = list(known)
    lowered = {n.lower(): n for n in names}
    close = get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.6)
    if close:
        return f"did you mean `{lowered[close[0]]}`?"
    return f"known: {', '.join(sorted(names))}"


def one_of(*words: str) -> Form[str]:
    """One word of a closed list, in any case."""
    lowered = {w.lower(): w for w in words}

    def read(node: Node) -> str:
        word = string(node)
        if word.lower() not in lowered:
            raise Bad(node, f"`{word}` is not one of {', '.join(words)}", did_you_mean(word, words))
        return lowered[word.lower()]

    return Form(read=read, shows=", ".join(f"`{w}`" for w in words), schema={"type": "string", "enum": list(words)})


def list_of(item: Form[T]) -> Form[tuple[T, ...]]:
    """A list, or one item alone."""

    def read(node: Node) -> tuple[T, ...]:
        items = node.items if isinstance(node, Seq) else (node,)
        return tuple(each(items, item.read))

    return Form(
        read=read,
        shows=f"{item.shows}, or a list of them",
        schema={"anyOf": [dict(item.schema), {"type": "array", "items": dict(item.schema)}]},
    )


def map_of(name: Form[str], value: Form[T]) -> Form[Mapping[str, T]]:
    """A mapping with names of the user's own."""

    def read(node: Node) -> Mapping[str, T]:
        if not isinstance(node, Map):
            raise Bad(node, f"a mapping of names to values is wanted here, not {kind(node)}")
        return dict(each(node, lambda pair: (name.read(pair[0]), value.read(pair[1]))))

    return Form(
        read=read,
        shows=f"mapping of {name.shows} to {value.shows}",
        schema={"type": "object", "additionalProperties": dict(value.schema)},
    )
