"""plan: freeze placement, root, lock and Terraform plan of a job, for review."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainrig.commands.options import Cloud, Env, Format, JobArg, OutputFormat, Quiet, RunId, Set

CHANGES = 2


def command(
    job: JobArg,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Keep the plan there, for review and apply DIR.")
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="No credentials, providers or network: say what that leaves unknown.")
    ] = False,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 2 when there is something to change.")
    ] = False,
    cloud: Cloud = None,
    env: Env = None,
    overrides: Set = None,
    run_id: RunId = None,
    binary: Annotated[
        Path | None,
        typer.Option("--binary-plan", metavar="FILE", help="Terraform's own plan file, which holds all in clear."),
    ] = None,
    output: Format = OutputFormat.TEXT,
    quiet: Quiet = False,
) -> None:
    """Creates nothing. Shows where the job would run and why, what that costs, and every resource that would be made;
    with --out, writes it all into a folder that `trainrig apply DIR` applies as it was reviewed.

    Exits with 5 when no offer fits, with --detailed-exitcode 0 for no changes and 2 for changes.

    Examples: trainrig plan job.yaml --out plan; trainrig plan job.yaml --offline --format github
    """
    from trainrig.console import Console
    from trainrig.errors import UsageError
    from trainrig.lifecycle import plan, plan_out
    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.load_job import load_job
    from trainrig.reports import plan_json, plan_markdown, plan_text

    console = Console(format=output.value, quiet=quiet)
    jobs, environment = load_job(job, env, overrides or ())
    if len(jobs) > 1:
        raise UsageError(f"{job} holds {len(jobs)} jobs, plan takes one", hint="give each job a file of its own")
    if offline and binary:
        raise UsageError("--offline makes no binary plan")
    with console.progress() as observe, opened(environment, observe=observe) as context:
        planned = plan.plan(
            context,
            jobs[0],
            environment,
            keep=out is not None,
            cloud=cloud,
            run_id=run_id,
            offline=offline,
            binary=binary,
        )
        if out is not None:
            plan_out.write(planned, out, overrides=overrides or (), cloud=cloud)
    match output:
        case OutputFormat.JSON:
            console.document(plan_json.to_document(planned.plan, str(out / "root") if out else None))
        case OutputFormat.TEXT:
            console.data(plan_text.text(planned.plan, str(out) if out else None))
        case OutputFormat.MD | OutputFormat.GITHUB:
            console.data(plan_markdown.markdown(planned.plan))
    if detailed_exitcode and planned.plan.resources:
        raise typer.Exit(CHANGES)
