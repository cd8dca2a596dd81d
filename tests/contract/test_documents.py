"""Every JSON document that trainrig prints or writes for others has a schema, and keeps to it."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

import trainrig
from support.cli import trainrig as cli
from support.schemas import check
from trainrig import assets, errors
from trainrig.model.evidence import Evidence, NodeCheck, NodeEvidence

# Files of a job, of its rig and of a checkpoint, which trainrig alone reads.
OWN = {"checkpoint", "checkpoints", "job", "lock", "pins"}
SCHEMAS = sorted(p for p in assets.data("schemas").glob("*.json"))


def test_every_document_has_a_schema() -> None:
    package = Path(trainrig.__file__).parent
    named = {
        name
        for path in package.rglob("*.py")
        for name in re.findall(r'"trainrig\.(\w+/\d+)"', path.read_text(encoding="utf-8"))
    }
    shipped = {p.stem.replace("-", "/") for p in SCHEMAS}
    assert {name for name in named if name.partition("/")[0] not in OWN} <= shipped


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda p: p.stem)
def test_a_schema_is_one(path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "words",
    [
        "breakeven --data-gb 150 --egress-gb-usd 0.09 --price-from 1.10 --price-to 0.40",
        "breakeven --data-gb 150 --egress-gb-usd 0.09 --price-from 1 --price-to 2",
        "init --list",
        "init",
        "offers --gpu A100:8",
        "offers --gpu NOTHING:8",
        "check --cloud local",
        "explain absent.yaml",
        "status nobody",
        "explain --frobnicate",
    ],
)
def test_a_verb_keeps_to_its_schema(
    words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check(json.loads(cli(capsys, *words.split(), "--format", "json").out))


def test_errors_of_a_file_keep_to_their_schema() -> None:
    where = errors.Position(file="job.yaml", line=1, column=2, text="nam: x")
    problem = errors.Problem(message="unknown key", where=where, hint="name")
    check(errors.document(errors.SpecInvalid("job.yaml is not valid", problems=[problem])))
    check(errors.document(errors.PlanStale("moved", details={"changed": ["main.tf"]})))


def test_evidence_keeps_to_its_schema() -> None:
    node = NodeEvidence(node="n-0", rank=0, checks=(NodeCheck(name="driver", status="pass", detail="580"),))
    check(Evidence(rig="train", at=datetime.now(UTC).isoformat(), nodes=(node,)).to_document())
