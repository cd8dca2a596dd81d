"""ssh: open a shell on a node of a rig, or run a command there."""

from __future__ import annotations

from typing import Annotated

import typer

from trainrig.commands.options import RigArg

CONTEXT = {"ignore_unknown_options": True}


def command(
    rig: RigArg,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[-- CMD...]", help="A command instead of a shell.")
    ] = None,
    rank: Annotated[int, typer.Option("--rank", help="Which node.")] = 0,
    forward: Annotated[
        list[int] | None,
        typer.Option("--forward", metavar="PORT", min=1, max=65535, help="Bring a port of the job here. Repeatable."),
    ] = None,
) -> None:
    """With the rig's own key, and only to the host key that the node was made with.

    Examples:

      trainrig ssh hello

      trainrig ssh hello --rank 1 -- nvidia-smi -L

      trainrig ssh hello --forward 8888
    """
    import os
    import shlex

    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.load_job import find_environment
    from trainrig.lifecycle.rig_site import way_in
    from trainrig.tools import proc

    with opened(find_environment(None)) as context:
        argv = way_in(context, rig, rank, forward or ())
    # The terminal, its signals and the exit code are ssh's from here on.
    os.execv(proc.find(argv[0]), [*argv, *([shlex.join(words)] if words else [])])  # noqa: S606
