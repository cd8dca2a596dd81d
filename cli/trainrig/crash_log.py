"""What is kept of an error that nobody expected."""

from __future__ import annotations

import os
import sys
import traceback

from trainrig import __version__, errors, settings
from trainrig.model.clock import utc_now


def internal(error: Exception, *, verb: str) -> errors.RigError:
    """As an error to report. A log with versions, verb and traceback is written, which is what the user sends us."""
    from trainrig.console import masked

    directory = settings.logs()
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = directory / f"crash-{utc_now():%Y%m%dT%H%M%S}-{os.getpid()}.log"
    path.touch(mode=0o600)
    told = "".join(traceback.format_exception(error))
    words = f"trainrig {__version__}\nPython {sys.version}\nverb: {verb}\n\n{told}"
    path.write_text(masked(words, guess=True), encoding="utf-8", errors="backslashreplace")
    return errors.RigError(
        f"internal error: {type(error).__name__}: {error}",
        hint=f"please report it with the log {path}",
        details={"log": str(path)},
    )
