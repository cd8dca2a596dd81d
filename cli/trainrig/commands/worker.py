"""worker: carry out runs from the queue, and go on with those of dead workers."""

from __future__ import annotations

from typing import Annotated

import typer

from trainrig import settings
from trainrig.commands import options
from trainrig.console import Console


def command(
    runs: Annotated[int, typer.Option("--runs", min=1, max=1000, help="How many at once.")] = 8,
    until_empty: Annotated[
        bool, typer.Option("--until-empty", help="End when no run waits and no worker has one.")
    ] = False,
    output_format: options.Format = options.OutputFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Carry out runs that `trainrig run --queue` put on the queue, until SIGINT or SIGTERM.

    Runs of a worker or a `trainrig run` that died are gone on with. Several machines: give all the same
    TRAINRIG_DATABASE_URL (PostgreSQL) and share TRAINRIG_HOME between them. With `--format json`, stdout has one
    document a run that ended.

    Examples:

      trainrig worker --runs 20

      TRAINRIG_DATABASE_URL=postgresql://trainrig@db/runs trainrig worker
    """
    from trainrig.lifecycle.run import RunResult
    from trainrig.lifecycle.worker import Worker

    console = Console(format=output_format.value, quiet=quiet)

    def ended(result: RunResult) -> None:
        if console.format == "json":
            console.document(result.document, line=True)

    Worker(home=settings.home(), runs=runs, say=console.say, ended=ended).work(until_empty=until_empty)
