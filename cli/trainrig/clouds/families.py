"""The table of machine families that a cloud's Terraform module decides from, so that both say the same."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from trainrig import assets


@cache
def family_table(cloud: str) -> dict[str, Any]:
    """terraform/modules/<cloud>/families.json"""
    path = assets.path("terraform") / "modules" / cloud / "families.json"
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table
