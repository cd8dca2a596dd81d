"""drift: what a rig's cloud shows otherwise than its state."""

from __future__ import annotations

from typing import Annotated

import typer

from trainrig.commands.options import Env, Format, OutputFormat, RigArg

CHANGES = 2


def command(
    rig: RigArg,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 2 when something differs.")
    ] = False,
    env: Env = None,
    output: Format = OutputFormat.TEXT,
) -> None:
    """By a refresh-only plan and the cloud's inventory: preempted, edited, gone or extra. Changes nothing."""
    from trainrig.console import Console
    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.drift import drift
    from trainrig.lifecycle.load_job import find_environment
    from trainrig.lifecycle.rig_environment import in_own_environment
    from trainrig.reports import status_json, status_text

    console = Console(format=output.value)
    with opened(find_environment(env)) as context:
        known = context.journal.find(rig)
        found = drift(in_own_environment(context, known, env), known)
    if output is OutputFormat.JSON:
        console.document(status_json.drift_document(known.name, known.run_id, found))
    else:
        console.data(status_text.drift(found))
    if found and detailed_exitcode:
        raise typer.Exit(CHANGES)
