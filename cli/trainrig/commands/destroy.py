"""destroy: remove all that a rig has in any cloud, and prove it."""

from __future__ import annotations

from typing import Annotated

import typer

from trainrig.commands.options import Env, Format, OutputFormat, Quiet, Verbose


def command(
    rig: Annotated[str | None, typer.Argument(metavar="[RIG]", help="The rig's name or run id.")] = None,
    run_id: Annotated[
        str | None, typer.Option("--run-id", metavar="ID", help="Of a rig that this machine need not know.")
    ] = None,
    env: Env = None,
    output: Format = OutputFormat.TEXT,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Destroys from Terraform's state, then by label, then looks at the cloud twice. Needs no outputs and no state.

    Again is fine: what is absent is done. Exits with 12 when something may still bill. Never touches data in buckets.
    """
    from trainrig.console import Console
    from trainrig.errors import DestroyIncomplete, UsageError
    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.destroy import destroy_named, destroy_run
    from trainrig.lifecycle.load_job import find_environment
    from trainrig.reports import destroy_json, destroy_text

    if (rig is None) == (run_id is None):
        raise UsageError("name a rig, or give --run-id", hint="trainrig status lists the rigs")
    console = Console(format=output.value, quiet=quiet, verbose=verbose)
    with console.progress() as observe, opened(find_environment(env), observe=observe) as context:
        proofs = destroy_run(context, run_id, env) if run_id else destroy_named(context, rig or "", env)
    for proof in proofs:
        if output is OutputFormat.JSON:
            console.document(destroy_json.to_document(proof), line=len(proofs) > 1)
        else:
            console.data(destroy_text.text(proof))
    if not all(proof.clean for proof in proofs):
        console.error("error: something may still bill\nhint: mend what is in the way and destroy again")
        raise typer.Exit(DestroyIncomplete.exit_code)
