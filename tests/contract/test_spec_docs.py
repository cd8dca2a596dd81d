"""docs/job-file.md, docs/environments.md and the JSON Schemas say what the schema says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from support import spec_docs


@pytest.mark.parametrize("path", spec_docs.documents(), ids=lambda p: p.name)
def test_what_is_made_from_the_schema_is_up_to_date(path: Path) -> None:
    message = f"{path.name} is out of date; run: python tests/support/spec_docs.py"
    assert path.read_text(encoding="utf-8") == spec_docs.documents()[path], message


@pytest.mark.parametrize("kind", ["job", "environment"])
def test_the_json_schemas_are_json_schemas(kind: str) -> None:
    document = json.loads((spec_docs.SCHEMAS / f"{kind}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(document)


@pytest.mark.parametrize(
    ("kind", "path"),
    [("job", p) for p in sorted(spec_docs.ROOT.glob("templates/init/*.yaml"))]
    + [("environment", p) for p in sorted(spec_docs.ROOT.glob("environments/*.yaml"))],
    ids=lambda x: x if isinstance(x, str) else x.stem,
)
def test_an_editor_accepts_what_ships(kind: str, path: Path) -> None:
    schema = json.loads((spec_docs.SCHEMAS / f"{kind}.schema.json").read_text())
    jsonschema.validate(yaml.safe_load(path.read_text()), schema)


def test_an_editor_marks_an_unknown_key() -> None:
    schema = json.loads((spec_docs.SCHEMAS / "job.schema.json").read_text())
    with pytest.raises(jsonschema.ValidationError, match="workdirr"):
        jsonschema.validate({"run": "x", "workdirr": "."}, schema)
    with pytest.raises(jsonschema.ValidationError, match="cpu"):
        jsonschema.validate({"resources": {"cpu": 8}}, schema)


def test_every_table_is_on_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in spec_docs.PAGES)
    assert [name for name in spec_docs.TABLES if f"<!-- table: {name} -->" not in pages] == []
