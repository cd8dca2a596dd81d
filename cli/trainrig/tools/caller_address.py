"""The address under which clouds see this machine."""

from __future__ import annotations

import ipaddress
import urllib.request

from trainrig.errors import PreflightFailed

# Amazon's own echo service; it says nothing but the caller's address.
URL = "https://checkip.amazonaws.com"
TIMEOUT_SECONDS = 5.0


def caller_address(url: str = URL) -> str:
    """Raises PreflightFailed when it cannot be found out."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310  # a constant https URL
            return str(ipaddress.ip_address(answer.read(64).decode("ascii").strip()))
    except (OSError, ValueError) as error:
        raise PreflightFailed(
            f"the public address of this machine cannot be found out: {error}",
            hint="name the addresses that may reach the nodes in the environment: `ssh_ingress: [203.0.113.7/32]`",
        ) from error
