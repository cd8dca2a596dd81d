"""YAML text to nodes: PyYAML's events (libyaml's where it is there), with our own composer on top.

PyYAML's composer keeps the last of two equal keys, expands nothing it can warn about, and recurses. This one refuses
what is ambiguous and what is too big, and every node keeps its place.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

import yaml

from trainrig.errors import Problem, SpecInvalid
from trainrig.spec.nodes import MAX_PROBLEMS, UNPRINTABLE, Map, Node, Scalar, Seq, Source, problem
from trainrig.spec.scalars import is_null

MAX_CHARACTERS: Final = 1_000_000
MAX_DEPTH: Final = 50
MAX_NODES: Final = 100_000  # after aliases are followed: ten lines can name a billion nodes

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STANDARD: Final = "tag:yaml.org,2002:"
_TYPES: Final = frozenset({"str", "int", "float", "bool", "null", "map", "seq", "set", "timestamp"})


def compose(text: str, file: str) -> tuple[Node, ...]:
    """The documents of a YAML text; empty documents are left out.

    Raises:
        SpecInvalid: not YAML, or YAML that trainrig does not take.
    """
    source = Source(file=file, text=text.removeprefix("\ufeff"))
    if len(text) > MAX_CHARACTERS:
        message = f"{len(text):,} characters are too many: at most {MAX_CHARACTERS:,}"
        raise SpecInvalid(f"{file}: {message}", hint="put long scripts into the workdir and call them from `run`")
    if (found := UNPRINTABLE.search(source.text)) is not None:
        line = source.text.count("\n", 0, found.start()) + 1
        column = found.start() - source.text.rfind("\n", 0, found.start())
        where = source.at(line, column)
        raise invalid(file, [Problem(message=f"a control character, {found.group()!r}", where=where, hint="delete it")])
    composer = _Composer(source=source)
    try:
        for event in yaml.parse(source.text, Loader=_LOADER):
            composer.take(event)
            if len(composer.problems) > MAX_PROBLEMS:
                break
    except yaml.MarkedYAMLError as error:
        raise invalid(file, [*composer.problems, _syntax(error, source)]) from None
    except yaml.YAMLError as error:
        raise invalid(file, [*composer.problems, Problem(message=f"not YAML: {error}")]) from None
    if composer.problems:
        raise invalid(file, composer.problems)
    return tuple(composer.documents)


def invalid(file: str, problems: list[Problem]) -> SpecInvalid:
    """One error for all that is wrong in a file, in the file's order."""
    problems = sorted(problems, key=lambda p: (p.where.line, p.where.column) if p.where else (0, 0))
    shown = problems[:MAX_PROBLEMS]
    left = f", the first {MAX_PROBLEMS} shown" if len(problems) > MAX_PROBLEMS else ""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return SpecInvalid(f"{file}: {count}{left}", problems=shown)


def without_lines(problems: list[Problem], lines: set[int]) -> list[Problem]:
    """The problems, not showing these lines, since they hold secrets."""
    return [replace(p, where=replace(p.where, text="")) if p.where and p.where.line in lines else p for p in problems]


def _syntax(error: yaml.MarkedYAMLError, source: Source) -> Problem:
    mark = error.problem_mark or error.context_mark
    what = error.problem or error.context or "cannot be read"
    if mark is None:
        return Problem(message=f"not YAML: {what}")
    where = source.at(mark.line + 1, mark.column + 1)
    hint = ""
    if "\t" in where.text[: mark.column + 1]:
        hint = "a tab: YAML indents with spaces only"
    elif where.text[mark.column : mark.column + 1] in {"@", "`"}:
        hint = f"a word that begins with {where.text[mark.column]} needs quotes"
    elif error.context and error.context_mark and error.context_mark.line != mark.line:
        hint = f"{error.context}, which began in line {error.context_mark.line + 1}"
    return Problem(message=f"not YAML: {what}", where=where, hint=hint)


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet."""

    event: Any
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class _Composer:
    source: Source
    documents: list[Node] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, Node] = field(default_factory=dict)
    weights: dict[int, int] = field(default_factory=dict)  # by id() of nodes that `anchors` or `stack` keep alive

    def take(self, event: Any) -> None:
        match event:
            case yaml.ScalarEvent():
                self._tag(event)
                # `!!str 5` and `! 5` are text, as quoted text is
                plain = not event.style and event.tag not in {"!", f"{_STANDARD}str"}
                self._finish(Scalar(text=event.value, plain=plain, **self._at(event)), event.anchor, 1)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._tag(event)
                self.stack.append(_Open(event=event))
                if len(self.stack) > MAX_DEPTH:
                    self._stop(event, f"more than {MAX_DEPTH} levels deep")
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._close()
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.DocumentStartEvent():
                self.anchors.clear()
                self.weights.clear()
            case _:
                pass

    def _at(self, event: Any) -> dict[str, Any]:
        mark = event.start_mark
        return {"source": self.source, "line": mark.line + 1, "column": mark.column + 1}

    def _stop(self, event: Any, message: str) -> None:
        self._problem(event, message)
        raise invalid(self.source.file, self.problems)

    def _problem(self, event: Any, message: str, hint: str = "") -> None:
        where = self.source.at(event.start_mark.line + 1, event.start_mark.column + 1)
        self.problems.append(Problem(message=message, where=where, hint=hint))

    def _tag(self, event: Any) -> None:
        tag = event.tag
        if tag and tag != "!" and not (tag.startswith(_STANDARD) and tag.removeprefix(_STANDARD) in _TYPES):
            self._problem(event, f"the tag {tag!r} is not taken", "write plain YAML without tags")

    def _alias(self, event: Any) -> None:
        node = self.anchors.get(event.anchor)
        if node is not None:
            self._finish(node, None, self.weights[id(node)])
        elif any(o.event.anchor == event.anchor for o in self.stack):
            self._stop(event, f"*{event.anchor} is inside of &{event.anchor}, so it would never end")
        else:
            self._stop(event, f"no &{event.anchor} comes before *{event.anchor}")

    def _close(self) -> None:
        opened = self.stack.pop()
        weight = 1 + sum(self.weights.get(id(item), 1) for item in opened.items)
        if weight > MAX_NODES:
            self._stop(opened.event, f"more than {MAX_NODES:,} values, with aliases followed")
        node: Node
        if isinstance(opened.event, yaml.MappingStartEvent):
            node = self._map(opened)
        else:
            node = Seq(items=tuple(opened.items), **self._at(opened.event))
        self._finish(node, opened.event.anchor, weight)

    def _finish(self, node: Node, anchor: str | None, weight: int) -> None:
        self.weights[id(node)] = weight
        if anchor:
            self.anchors[anchor] = node
        if self.stack:
            self.stack[-1].items.append(node)
        elif not is_null(node):
            self.documents.append(node)

    def _map(self, opened: _Open) -> Map:
        own: dict[str, tuple[Scalar, Node]] = {}
        merged: dict[str, tuple[Scalar, Node]] = {}
        pairs = zip(opened.items[::2], opened.items[1::2], strict=True)
        for key, value in pairs:
            if not isinstance(key, Scalar):
                braces = isinstance(key, Map) and "{{" in self.source.line(key.line)
                hint = "`{{ }}` is of a template: fill it in first, or put it in quotes" if braces else ""
                self.problems.append(problem(key, "a key must be one word or text", hint))
            elif key.plain and key.text == "<<":
                self._merge(value, merged)
            elif key.text in own:
                first = own[key.text][0].line
                self.problems.append(problem(key, f"`{key.text}` is here twice", f"the first is in line {first}"))
            else:
                own[key.text] = (key, value)
            if len(self.problems) > MAX_PROBLEMS:
                break
        return Map(entries=tuple({**merged, **own}.values()), **self._at(opened.event))

    def _merge(self, value: Node, merged: dict[str, tuple[Scalar, Node]]) -> None:
        """`<<: *base` or `<<: [*first, *second]`; what comes first wins."""
        for base in value.items if isinstance(value, Seq) else (value,):
            if not isinstance(base, Map):
                self.problems.append(problem(base, "`<<` merges mappings only"))
                continue
            for key, inherited in base:
                merged.setdefault(key.text, (key, inherited))
