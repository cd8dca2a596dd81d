"""Finds the terraform/, ansible/, templates/ and environments/ trees: in the wheel, or in the checkout of an
editable install (cli/hatch_build.py puts them into the wheel)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

Tree = Literal["terraform", "ansible", "templates", "environments", "examples"]

_PACKAGE = Path(__file__).resolve().parent


def path(tree: Tree) -> Path:
    """The directory of a shipped tree; a real path, since terraform and ansible need files."""
    packaged = _PACKAGE / "_assets" / tree
    if packaged.is_dir():
        return packaged
    return _PACKAGE.parent.parent / tree


def data(name: str) -> Path:
    """A file of trainrig/data."""
    return _PACKAGE / "data" / name
