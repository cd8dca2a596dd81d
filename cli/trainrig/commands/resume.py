"""resume: go on with a run whose trainrig process was killed."""

from __future__ import annotations

from trainrig.commands import options
from trainrig.commands.run import report
from trainrig.console import Console


def command(
    rig: options.RigArg,
    output_format: options.Format = options.OutputFormat.TEXT,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Go on with a run whose trainrig process was killed, from the step that it had not ended.

    A secret that was given as a value is read from the environment variable of its name.

    Example: trainrig resume hello
    """
    from trainrig.lifecycle import run

    console = Console(format=output_format.value, quiet=quiet, verbose=verbose)
    with console.progress() as observe:
        result = run.carry_out(run.resumed(rig, observe))
    report(console, result)
