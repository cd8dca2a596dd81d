"""Money is Decimal US dollars, rounded once, where it is shown or written."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def cents(amount: Decimal) -> Decimal:
    """Rounded half up to the cent."""
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)


def text(amount: Decimal) -> str:
    """`"13.50"`: how JSON documents carry money."""
    return str(cents(amount))


def dollars(amount: Decimal) -> str:
    """`"$13.50"`: for people."""
    return f"${cents(amount):,}"
