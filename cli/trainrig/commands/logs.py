"""logs: print what the job of a rig wrote, also after the rig is gone."""

from __future__ import annotations

from typing import Annotated

import typer

from trainrig import settings
from trainrig.commands import options
from trainrig.console import Console


def command(
    rig: options.RigArg,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")] = False,
    rank: Annotated[int | None, typer.Option("--rank", help="One node's alone.", min=0)] = None,
) -> None:
    """Print what the job of a rig wrote, also after the rig is gone.

    Example: trainrig logs hello -f
    """
    from trainrig.lifecycle import logs

    console = Console()
    several: set[int] = set()
    for line in logs.follow(settings.home(), rig, rank=rank, wait=follow):
        several.add(line.rank)
        console.data(f"[{line.rank}] {line.text}" if len(several) > 1 else line.text)
