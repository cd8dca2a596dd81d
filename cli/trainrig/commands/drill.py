"""drill: take a node of a rig away on purpose, to see its run recover."""

from __future__ import annotations

from typing import Annotated

import typer

from trainrig.commands import options
from trainrig.console import Console


def command(
    rig: options.RigArg,
    rank: Annotated[int, typer.Option("--rank", min=0, help="Which node.")] = 0,
    notice: Annotated[
        bool, typer.Option("--notice/--no-notice", help="Announce it as the cloud does, or cut the power.")
    ] = True,
    yes: options.Yes = False,
) -> None:
    """Take a node of a rig away on purpose, to see its run recover.

    Example: trainrig drill hello --no-notice --yes
    """
    from trainrig.errors import UsageError
    from trainrig.lifecycle import drill

    console = Console()
    if not yes and not console.interactive:
        raise UsageError("drill takes a node away and there is nobody to ask", hint="give --yes")
    if not yes and not console.confirm(f"take rank {rank} of {rig} away?"):
        raise typer.Abort
    console.say(drill.drill(rig, rank=rank, notice=notice))
