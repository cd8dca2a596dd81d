"""Runs the command line in this process, as `python -m trainrig` does, and reads what it wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from trainrig.app import run


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """stdout as one JSON document."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


def trainrig(capsys: pytest.CaptureFixture[str], *words: str) -> Ran:
    capsys.readouterr()
    code = run(words)
    captured = capsys.readouterr()
    return Ran(code=code, out=captured.out, err=captured.err)
