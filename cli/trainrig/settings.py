"""Where trainrig keeps things, and the TRAINRIG_* variables that move them."""

from __future__ import annotations

import os
from decimal import Decimal, InvalidOperation
from pathlib import Path

from trainrig.errors import UsageError


def home() -> Path:
    """`TRAINRIG_HOME`, else the platform's user data directory: rigs, journal, offers, keys."""
    value = os.environ.get("TRAINRIG_HOME")
    if value:
        return Path(value).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("trainrig", appauthor=False)


def cache() -> Path:
    """`TRAINRIG_CACHE`, else the platform's user cache directory: what can be made again."""
    value = os.environ.get("TRAINRIG_CACHE")
    if value:
        return Path(value).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("trainrig", appauthor=False)


def database_url() -> str | None:
    """`TRAINRIG_DATABASE_URL`: the PostgreSQL that keeps the steps of runs, for several machines; else None.

    Raises:
        UsageError: it is not the URL of a PostgreSQL.
    """
    value = os.environ.get("TRAINRIG_DATABASE_URL")
    if not value:
        return None
    scheme, found, rest = value.partition("://")
    if not found or scheme not in {"postgresql", "postgres"}:
        raise UsageError(
            "TRAINRIG_DATABASE_URL is not the URL of a PostgreSQL",
            hint="TRAINRIG_DATABASE_URL=postgresql://USER:PASSWORD@HOST:5432/NAME",
        )
    return f"postgresql://{rest}"


def uplink_mbit() -> Decimal:
    """`TRAINRIG_UPLINK_MBIT`: megabits a second that this machine can upload, else 50.

    Raises:
        UsageError: it is not a positive number.
    """
    text = os.environ.get("TRAINRIG_UPLINK_MBIT", "50")
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal(0)
    if not value.is_finite() or value <= 0:
        raise UsageError(f"TRAINRIG_UPLINK_MBIT is {text!r}", hint="TRAINRIG_UPLINK_MBIT=50 means 50 megabits a second")
    return value


def logs() -> Path:
    return home() / "logs"
