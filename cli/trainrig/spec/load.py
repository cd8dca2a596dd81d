"""A job file's text to job specs, one a document; a spec is checked, but not yet merged with its environment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from trainrig.errors import Problem, SpecInvalid
from trainrig.spec.build import build, root_mapping
from trainrig.spec.compose import compose, invalid
from trainrig.spec.nodes import Map, Node
from trainrig.spec.schema import HEADER

_HEADER_KEYS: Final = frozenset({"name", "execution", *HEADER.refused})


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSpec:
    """`root` is the document; `default_name` is the job's name when the document gives none."""

    root: Map
    default_name: str

    @property
    def file(self) -> str:
        return self.root.source.file


def load_documents(text: str, file: str) -> tuple[JobSpec, ...]:
    """The jobs of a file, in the order in which they run.

    Raises:
        SpecInvalid: with all problems of all documents.
    """
    documents = compose(text, file)
    problems: list[Problem] = []
    documents, name = _header(documents, problems)
    if not documents:
        hint = "the smallest job file is one line: `run: python train.py`"
        raise invalid(file, problems) if problems else SpecInvalid(f"{file}: nothing in it", hint=hint)
    name = name or default_name(file)
    specs = tuple(
        JobSpec(
            root=root_mapping(document, problems),
            default_name=name if len(documents) == 1 else f"{name}-{number}",
        )
        for number, document in enumerate(documents, 1)
    )
    for spec in specs:
        build(spec.root, default_name=spec.default_name, problems=problems, draft=True)
    if problems:
        raise invalid(file, problems)
    return specs


def default_name(file: str) -> str:
    """`examples/llama3 qlora.yaml` -> `llama3-qlora`."""
    stem = re.sub(r"[^A-Za-z0-9]+", "-", PurePath(file).stem).strip("-")
    return stem[:60].strip("-") or "job"


def _header(documents: tuple[Node, ...], problems: list[Problem]) -> tuple[tuple[Node, ...], str | None]:
    """The documents without the pipeline's header, and the pipeline's name."""
    first = documents[0] if len(documents) > 1 else None
    if not isinstance(first, Map) or not {key.text for key, _ in first} <= _HEADER_KEYS:
        return documents, None
    return documents[1:], HEADER.read(first, problems).get("name")
