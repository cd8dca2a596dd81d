"""What comes out of another tool's price list: the offers, and every row that is none, with the reason."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

Row = Mapping[str, str | None]


class RowRefused(Exception):
    """A row that is no offer; the message says why, in words that are the same for all such rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    line: int  # of the file, the header is 1
    reason: str


def by_reason(refused: Sequence[Refused]) -> list[str]:
    """`12 rows: a share of a GPU (first in line 17)`, the most frequent reason first."""
    counts = Counter(r.reason for r in refused)
    first: dict[str, int] = {}
    for r in refused:
        first.setdefault(r.reason, r.line)
    return [
        f"{n} row{'' if n == 1 else 's'}: {reason} (first in line {first[reason]})"
        for reason, n in counts.most_common()
    ]


def text(row: Row, column: str) -> str:
    """Empty when the row is short or the cell is."""
    return (row.get(column) or "").strip()


def needed(row: Row, column: str) -> str:
    value = text(row, column)
    if not value:
        raise RowRefused(f"no {column}")
    return value


def number(row: Row, column: str, *, default: float | None = None) -> float:
    """A finite number that is not negative. `default` stands for an empty cell; None: the cell must not be empty."""
    value = text(row, column)
    if not value and default is not None:
        return default
    try:
        found = float(value)
    except ValueError:
        raise RowRefused(f"{column} is not a number") from None
    if not math.isfinite(found) or found < 0:
        raise RowRefused(f"{column} is not a number")
    return found


def price(row: Row, column: str) -> Decimal | None:
    """None for an empty cell: the source has no price. Zero stays: the quality rules judge it."""
    value = text(row, column)
    if not value:
        return None
    try:
        found = Decimal(value)
    except InvalidOperation:
        raise RowRefused(f"{column} is not a number") from None
    if not found.is_finite() or found < 0:
        raise RowRefused(f"{column} is not a price")
    return found


def gpu_count(row: Row, column: str) -> int:
    found = number(row, column, default=0)
    if 0 < found < 1 or found != int(found):
        raise RowRefused("a share of a GPU")
    return int(found)
