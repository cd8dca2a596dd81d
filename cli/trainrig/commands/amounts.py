"""Amounts as options carry them."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

from trainrig.errors import UsageError


def amount(option: str, text: str) -> Decimal:
    """A plain decimal number, not negative.

    Raises:
        UsageError: it is not one.
    """
    bare = text.strip().removeprefix("$")
    if not re.fullmatch(r"\d{1,12}(\.\d{1,12})?", bare):
        raise UsageError(f"{option} {text}: a number is wanted, zero or more", hint=f"for example {option} 0.09")
    return Decimal(bare)


def duration(text: str) -> timedelta:
    """`90m`, `2h`, `1h30m`, `1d`; longer than nothing.

    Raises:
        UsageError: it is not one.
    """
    found = re.fullmatch(r"(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?", text.strip())
    days, hours, minutes, seconds = (int(n or 0) for n in found.groups()) if found else (0, 0, 0, 0)
    length = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    if not length:
        raise UsageError(f"{text!r} is no length of time", hint="write it as 2h, 90m or 1h30m")
    return length
