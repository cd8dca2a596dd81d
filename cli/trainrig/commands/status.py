"""status: which rigs there are, what they cost, and whether something must be done."""

from __future__ import annotations

from typing import Annotated

import typer

from trainrig.commands.options import Env, Format, OutputFormat


def command(
    rig: Annotated[str | None, typer.Argument(metavar="[RIG]", help="One rig, compared with its cloud.")] = None,
    all_rigs: Annotated[bool, typer.Option("--all", "-a", help="Also rigs that are proven gone.")] = False,
    cost: Annotated[bool, typer.Option("--cost", help="What each attempt has cost, and what it has lost.")] = False,
    env: Env = None,
    output: Format = OutputFormat.TEXT,
) -> None:
    """Without RIG it reads the journal alone and asks no cloud."""
    from trainrig.console import Console
    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.load_job import find_environment
    from trainrig.lifecycle.rig_environment import in_own_environment
    from trainrig.lifecycle.status import status
    from trainrig.model.clock import utc_now
    from trainrig.reports import status_json, status_text

    console = Console(format=output.value)
    with opened(find_environment(env)) as context:
        if rig is None:
            found = [status(context, r) for r in context.journal.rigs(all_rigs=all_rigs)]
        else:
            known = context.journal.find(rig)
            found = [status(in_own_environment(context, known, env), known, ask_cloud=True)]
    if output is OutputFormat.JSON:
        console.document(status_json.status_document(found))
        return
    console.data(status_text.rigs(found, utc_now()))
    if cost and found:
        console.data("\n" + status_text.costs(found))
    if rig is not None and found[0].nodes:
        console.data("\n" + status_text.nodes(found[0]))
