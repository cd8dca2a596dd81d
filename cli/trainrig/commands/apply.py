"""apply: bring a job's rig up, and leave it for configure, ssh and destroy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainrig.commands.options import Cloud, Env, Format, OutputFormat, Quiet, RunId, Set, Verbose, Yes


def command(
    job: Annotated[Path, typer.Argument(metavar="JOB|DIR", help="The job file, or a folder from trainrig plan --out.")],
    env: Env = None,
    overrides: Set = None,
    cloud: Cloud = None,
    run_id: RunId = None,
    plan_digest: Annotated[
        str | None, typer.Option("--plan-digest", metavar="DIGEST", help="Apply only a plan of this digest.")
    ] = None,
    ceiling: Annotated[
        str | None, typer.Option("--ceiling", metavar="USD", help="The most for an hour of the whole rig.")
    ] = None,
    yes: Yes = False,
    output: Format = OutputFormat.TEXT,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Tries the placement's candidates in order until one has all its nodes. Again for a rig that is up: does nothing;
    for one that was interrupted: removes what is there and tries again.

    Of a folder it applies exactly what was planned there, and refuses with 13 when something moved since. Asks before
    it spends, unless --yes is given. The rig lives until trainrig destroy, or until its lease is over.
    """
    import os

    from trainrig.commands.amounts import amount
    from trainrig.console import Console
    from trainrig.errors import PlanStale, UsageError
    from trainrig.lifecycle import apply_job, credential_life, frozen
    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.load_job import find_environment, load_job
    from trainrig.lifecycle.plan import only
    from trainrig.lifecycle.status import status
    from trainrig.model.clock import utc_now
    from trainrig.reports import status_json, status_text

    console = Console(format=output.value, quiet=quiet, verbose=verbose)
    if job.is_dir():
        with opened(find_environment(env)) as context:
            applied = frozen.thaw(context, job)
        if overrides or cloud or ceiling:
            raise UsageError(f"{job} is a plan already", hint="--set, --cloud and --ceiling go with a job file")
        if run_id not in {None, applied.run.run_id}:
            raise UsageError(
                f"the plan in {job} is of the run {applied.run.run_id}, not {run_id}",
                hint="give plan and apply the same --run-id or TRAINRIG_RUN_ID",
            )
        if plan_digest not in {None, applied.order.details["plan_digest"]}:
            raise PlanStale(f"{job} is not the plan {plan_digest}", hint="plan again, and have it reviewed again")
    else:
        jobs, environment = load_job(job, env, overrides or ())
        if len(jobs) > 1:
            raise UsageError(f"{job} holds {len(jobs)} jobs, apply takes one", hint="trainrig run runs them in order")
        with opened(environment) as context:
            applied = apply_job.prepare(context, jobs[0], only(environment, cloud), run_id=run_id)
        if (plan_digest is None) != (ceiling is None):
            raise UsageError("a digest says nothing of prices", hint="--plan-digest and --ceiling go together")
        if plan_digest and ceiling:
            applied = frozen.require(applied, plan_digest, amount("--ceiling", ceiling))
    credential_life.require(applied.order.candidates, os.environ, utc_now())
    console.say(applied.summary)
    if not yes and not console.interactive:
        raise UsageError("apply spends money and there is nobody to ask", hint="give --yes")
    if not yes and not console.confirm("apply?"):
        raise typer.Abort
    with console.progress() as observe, opened(applied.run.environment, observe=observe) as context:
        apply_job.carry_out(context, applied)
        found = status(context, context.journal.rig(applied.run.run_id), ask_cloud=True)
    if output is OutputFormat.JSON:
        console.document(status_json.status_document([found]))
    else:
        console.data(status_text.rigs([found], utc_now()) + "\n\n" + status_text.nodes(found))
