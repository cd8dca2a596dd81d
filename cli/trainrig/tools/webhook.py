"""Posts a JSON document to a URL."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from trainrig import __version__
from trainrig.errors import CommandFailed, TryLater

TIMEOUT_SECONDS = 5.0
BUSY = {408, 425, 429}  # and all from 500 on: the same may go well a little later


def post(url: str, document: Mapping[str, Any], *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
    """The URL is in no message: who knows it may be able to post.

    Raises:
        TryLater: it may go well another time.
        CommandFailed: it will not.
    """
    headers = {"Content-Type": "application/json", "User-Agent": f"trainrig/{__version__}"}
    try:
        if not url.startswith(("https://", "http://")):
            raise ValueError
        request = urllib.request.Request(url, json.dumps(document).encode(), headers, method="POST")  # noqa: S310
        with urllib.request.urlopen(request, timeout=timeout_seconds):  # noqa: S310 - checked above
            return
    except urllib.error.HTTPError as error:
        with error:
            kind = TryLater if error.code in BUSY or error.code >= 500 else CommandFailed
            raise kind(f"the webhook answered {error.code}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        if isinstance(error, OSError):
            raise TryLater(f"the webhook does not answer: {reason}") from None
        raise CommandFailed("the webhook's reference does not lead to an http or https URL") from None
