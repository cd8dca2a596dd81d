"""Holds JSON documents to the schemas that the package ships."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jsonschema

from trainrig import assets


def check(document: Mapping[str, Any]) -> None:
    """Validates a document against the schema that its own `schema` key names."""
    name = str(document["schema"]).removeprefix("trainrig.").replace("/", "-")
    schema = json.loads(assets.data(f"schemas/{name}.json").read_text())
    jsonschema.validate(document, schema, format_checker=jsonschema.FormatChecker())
