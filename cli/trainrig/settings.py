"""Where trainrig keeps things, and the TRAINRIG_* variables that move them."""

from __future__ import annotations

import os
from pathlib import Path


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


def logs() -> Path:
    return home() / "logs"
