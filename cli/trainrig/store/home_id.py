"""The name of a TRAINRIG_HOME: machines that share the folder see the same one."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

FILE = "home-id"


def home_id(home: Path) -> str:
    """Twelve hexadecimal digits, made at the first use and never changed."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = home / FILE
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        pass
    mine = home / f".{FILE}.{secrets.token_hex(6)}"
    mine.write_text(secrets.token_hex(6) + "\n", encoding="ascii")
    try:
        os.link(mine, path)  # the first of two that begin at once wins
    except FileExistsError:
        pass
    finally:
        mine.unlink()
    return path.read_text(encoding="ascii").strip()
