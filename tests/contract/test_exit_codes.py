"""Exit codes are a contract: one meaning each, and the documented table is the classes' own."""

from __future__ import annotations

from pathlib import Path

from trainrig import errors
from trainrig.reports import exit_codes

ROOT = Path(__file__).parents[2]


def test_an_exit_code_has_one_meaning() -> None:
    meanings: dict[int, set[str]] = {}
    for cls in exit_codes.classes(errors.RigError):
        meanings.setdefault(cls.exit_code, set()).add(cls.family)
    assert {code: m for code, m in meanings.items() if len(m) > 1} == {}


def test_a_code_belongs_to_one_class() -> None:
    owners: dict[str, set[str]] = {}
    for cls in exit_codes.classes(errors.RigError):
        owners.setdefault(cls.code, set()).add(f"{cls.__module__}.{cls.__qualname__}")
    assert {code: names for code, names in owners.items() if len(names) > 1} == {}


def test_the_codes_that_shells_use_are_left_alone() -> None:
    taken = set(exit_codes.families())
    assert not taken & {2, 126, 127}


def test_the_documented_table_is_current() -> None:
    assert (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8") == exit_codes.markdown()
