"""Amounts as options carry them."""

from __future__ import annotations

import re
from decimal import Decimal

from trainrig.errors import UsageError


def amount(option: str, text: str) -> Decimal:
    """A plain decimal number, not negative.

    Raises:
        UsageError: it is not one.
    """
    bare = text.strip().removeprefix("$")
    if not re.fullmatch(r"\d{1,12}(\.\d{1,12})?", bare):
        raise UsageError(f"{option} {text}: a number is wanted", hint=f"{option} 0.09")
    return Decimal(bare)
