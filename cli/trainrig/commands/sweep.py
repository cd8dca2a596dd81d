"""sweep: find what trainrig has in the clouds, and reap what is past its lease."""

from __future__ import annotations

import typer

from trainrig.commands.options import Env, Format, OutputFormat, Quiet, Verbose, Yes


def command(
    yes: Yes = False,
    env: Env = None,
    output: Format = OutputFormat.TEXT,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Looks in every cloud and region of the environment, by label: no state and no journal are needed.

    Without --yes it deletes nothing. Exits with 12 when a cloud could not be asked, or something could not be deleted.
    """
    from trainrig.console import Console
    from trainrig.errors import DestroyIncomplete
    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.load_job import find_environment
    from trainrig.lifecycle.sweep import sweep
    from trainrig.model.clock import utc_now
    from trainrig.reports.status_json import sweep_document
    from trainrig.reports.status_text import sweep as text

    console = Console(format=output.value, quiet=quiet, verbose=verbose)
    with console.progress() as observe, opened(find_environment(env), observe=observe) as context:
        result = sweep(context, delete=yes)
    if output is OutputFormat.JSON:
        console.document(sweep_document(result))
    else:
        console.data(text(result, utc_now()))
    if result.doubts or (yes and not result.clean):
        raise typer.Exit(DestroyIncomplete.exit_code)
