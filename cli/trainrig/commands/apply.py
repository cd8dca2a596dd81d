"""apply: bring a job's rig up, and leave it for configure, ssh and destroy."""

from __future__ import annotations

import typer

from trainrig.commands.options import Env, Format, JobArg, OutputFormat, Quiet, Set, Verbose, Yes


def command(
    job: JobArg,
    env: Env = None,
    overrides: Set = None,
    yes: Yes = False,
    output: Format = OutputFormat.TEXT,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Tries the placement's candidates in order until one has all its nodes. Again for a rig that is up: does nothing;
    for one that was interrupted: removes what is there and tries again.

    Asks before it spends, unless --yes is given. The rig lives until trainrig destroy, or until its lease is over.
    """
    from trainrig.console import Console
    from trainrig.errors import UsageError
    from trainrig.lifecycle import apply_job
    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.load_job import load_job
    from trainrig.lifecycle.status import status
    from trainrig.model.clock import utc_now
    from trainrig.reports import status_json, status_text

    console = Console(format=output.value, quiet=quiet, verbose=verbose)
    jobs, environment = load_job(job, env, overrides or ())
    if len(jobs) > 1:
        raise UsageError(f"{job} holds {len(jobs)} jobs, apply takes one", hint="trainrig run runs them in order")
    with opened(environment) as context:
        applied = apply_job.prepare(context, jobs[0], environment)
    console.say(applied.summary)
    if not yes and not console.interactive:
        raise UsageError("apply spends money and there is nobody to ask", hint="give --yes")
    if not yes and not console.confirm("apply?"):
        raise typer.Abort
    with console.progress() as observe, opened(environment, observe=observe) as context:
        apply_job.carry_out(context, applied)
        found = status(context, context.journal.rig(applied.run.run_id), ask_cloud=True)
    if output is OutputFormat.JSON:
        console.document(status_json.status_document([found]))
    else:
        console.data(status_text.rigs([found], utc_now()) + "\n\n" + status_text.nodes(found))
