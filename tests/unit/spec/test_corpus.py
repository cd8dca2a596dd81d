"""Real task files with the verdict of the tool that they were written for, where they lie beside the checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from trainrig import assets
from trainrig.errors import SpecInvalid
from trainrig.spec.load import load_documents

CORPUS = Path(__file__).parents[4] / "shared/corpus"
VERDICTS: dict[str, Any] = json.loads((CORPUS / "skypilot/verdicts.json").read_text()) if CORPUS.is_dir() else {}
# Rejected for a catalogue without some machine types, not for what they say.
NOT_IN_ITS_CATALOGUE = "No instance type"


def refusals(name: str) -> list[str]:
    text = (CORPUS / "skypilot" / name).read_text(encoding="utf-8")
    try:
        load_documents(text, name)
    except SpecInvalid as error:
        return [p.message for p in error.problems] or [error.message]
    return []


def names(*, accepted: bool) -> list[str]:
    return [
        name
        for name, verdict in VERDICTS.items()
        if bool(verdict.get("accepted")) is accepted and NOT_IN_ITS_CATALOGUE not in verdict.get("error", "")
    ]


@pytest.mark.skipif(not VERDICTS, reason="needs the corpus")
def test_what_is_accepted_loads_or_is_refused_by_name() -> None:
    said = {name: refusals(name) for name in names(accepted=True)}
    assert {n: m for n, m in said.items() if any("not supported" not in message for message in m)} == {}
    assert sum(not m for m in said.values()) >= 99


@pytest.mark.skipif(not VERDICTS, reason="needs the corpus")
def test_an_editor_accepts_what_loads() -> None:
    schema = jsonschema.Draft202012Validator(json.loads(assets.data("schemas/job.schema.json").read_text()))
    marked = []
    for name in (n for n in names(accepted=True) if not refusals(n)):
        for document in yaml.safe_load_all((CORPUS / "skypilot" / name).read_text(encoding="utf-8")):
            if document and set(document) != {"name"}:  # a pipeline's header is no job
                marked += [f"{name}: {error.message}" for error in schema.iter_errors(document)]
    assert marked == []


@pytest.mark.skipif(not VERDICTS, reason="needs the corpus")
def test_what_is_rejected_is_refused() -> None:
    assert [name for name in names(accepted=False) if not refusals(name)] == []


@pytest.mark.skipif(not VERDICTS, reason="needs the corpus")
@pytest.mark.parametrize("name", ["seed0_train_job.yaml", "seed1_llama3_qlora.yaml"])
def test_the_two_printed_files_load(name: str) -> None:
    assert len(load_documents((CORPUS / name).read_text(encoding="utf-8"), name)) == 1
