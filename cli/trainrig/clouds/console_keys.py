"""Finds the SSH host key that cloud-init prints on the console of a machine at its first boot."""

from __future__ import annotations

import re

_REGION = re.compile(r"BEGIN SSH HOST KEY KEYS-----(.*?)-----END SSH HOST KEY KEYS", re.DOTALL)
_KEY = re.compile(r"ssh-ed25519 [A-Za-z0-9+/]+={0,2}")


def host_key(console: str) -> str | None:
    """The ed25519 key of the last boot that printed one; None: not printed yet, or only in part."""
    keys = [key for region in _REGION.findall(console) for key in _KEY.findall(region)]
    return keys[-1] if keys else None
