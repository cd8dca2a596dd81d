"""check: tools, credentials, permissions and GPU quotas; what is missing and what mends it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainrig.commands.options import Env, Format, OutputFormat


def command(
    job: Annotated[Path | None, typer.Argument(metavar="[JOB]", help="A job file: what it needs, too.")] = None,
    cloud: Annotated[
        list[str] | None, typer.Option("--cloud", metavar="CLOUD", help="Only this cloud. Repeatable.")
    ] = None,
    env: Env = None,
    output: Format = OutputFormat.TEXT,
) -> None:
    """Looks at this machine and asks each cloud of the environment, or of all, with a real call; with --env, also the
    buckets for checkpoints and state. Changes nothing.

    With JOB, writes and deletes a small object where its checkpoints will go, as a run does before it rents anything,
    and asks whether its nodes can be let into its data and its image.

    Exit code 4: a tool or a bucket is missing, no cloud is enabled, or one that --cloud names is not.
    """
    from trainrig.console import Console
    from trainrig.errors import PreflightFailed
    from trainrig.lifecycle import check
    from trainrig.lifecycle.load_job import find_environment, load_job
    from trainrig.reports import check_report

    jobs, environment = load_job(job, env) if job else ((), find_environment(env) if env else None)
    found = check.check(check.accounts(environment, cloud or ()), environment, jobs)
    console = Console(format=output.value)
    if output is OutputFormat.JSON:
        console.document(check_report.document(found))
    else:
        console.data(check_report.text(found))
    if not found.ready or (cloud and any(c.failure for c in found.clouds)):
        raise typer.Exit(PreflightFailed.exit_code)
