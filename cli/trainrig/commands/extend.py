"""extend: let a rig live longer, where its cloud allows it."""

from __future__ import annotations

from typing import Annotated

import typer

from trainrig.commands.options import Env, Format, OutputFormat, RigArg


def command(
    rig: RigArg,
    by: Annotated[str, typer.Option("--for", metavar="TIME", help="How much longer, as in 2h or 90m.")],
    env: Env = None,
    output: Format = OutputFormat.TEXT,
) -> None:
    """Moves the end of the lease on the nodes, in the labels and in the journal; never past the environment's limit."""
    from trainrig.commands.amounts import duration
    from trainrig.console import Console
    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.extend import extend
    from trainrig.lifecycle.load_job import find_environment
    from trainrig.lifecycle.rig_environment import in_own_environment
    from trainrig.lifecycle.status import status
    from trainrig.model.clock import iso
    from trainrig.reports.status_json import status_document

    console = Console(format=output.value)
    with opened(find_environment(env)) as context:
        known = context.journal.find(rig)
        context = in_own_environment(context, known, env)
        end = extend(context, known, duration(by))
        found = status(context, context.journal.rig(known.run_id))
    if output is OutputFormat.JSON:
        console.document(status_document([found]))
    else:
        console.data(f"{known.name} lives until {iso(end)}")
