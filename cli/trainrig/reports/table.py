"""Plain columns for people, and the same as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

Row = tuple[str, ...]


def table(rows: Sequence[Row], *, indent: str = "  ") -> list[str]:
    """Lines of a table whose first row is its head; columns are as wide as their widest cell."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [(indent + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))).rstrip() for row in rows]


def markdown(rows: Sequence[Row]) -> list[str]:
    """The same as a Markdown table; a bar inside a cell is escaped."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return [lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]
