"""cancel: stop a run that another trainrig process carries out, and destroy its rig."""

from __future__ import annotations

from trainrig import settings
from trainrig.commands import options
from trainrig.console import Console


def command(rig: options.RigArg) -> None:
    """Stop a run that another trainrig process carries out; it saves, collects and destroys.

    Example: trainrig cancel hello
    """
    from trainrig.lifecycle import cancel

    Console().say(cancel.cancel(settings.home(), rig))
