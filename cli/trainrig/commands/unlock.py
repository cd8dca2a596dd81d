"""unlock: release a state lock whose holder is dead."""

from __future__ import annotations

from typing import Annotated

import typer

from trainrig.commands.options import Env, RigArg


def command(
    rig: RigArg,
    force_older_than: Annotated[
        str | None,
        typer.Option("--force-older-than", metavar="TIME", help="Also the lock of another machine, when so old."),
    ] = None,
    env: Env = None,
) -> None:
    """Only on evidence: the lock is of this machine and nothing works on the state, or it is old and you say so."""
    from trainrig.commands.amounts import duration
    from trainrig.console import Console
    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.load_job import find_environment
    from trainrig.lifecycle.rig_environment import in_own_environment
    from trainrig.lifecycle.unlock import unlock

    age = duration(force_older_than) if force_older_than else None
    with opened(find_environment(env)) as context:
        known = context.journal.find(rig)
        released = unlock(in_own_environment(context, known, env), known, force_older_than=age)
    Console().data("\n".join(released) or f"{known.name}: no state of it is locked")
