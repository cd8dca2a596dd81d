"""diff: what differs between two plans of a job, or between two Git revisions of its file."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer

from trainrig.commands.options import Env, Format, HideAccounts, OutputFormat, Set

CHANGES = 2


def command(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The folder of a plan; with --job, a Git revision.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The same, to compare with.")],
    job: Annotated[
        Path | None, typer.Option("--job", metavar="FILE", help="Plan this file, offline, at both revisions.")
    ] = None,
    env: Env = None,
    overrides: Set = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            metavar="PERCENT",
            help="Amounts of money that moved by no more are the same; 10 if not said.",
        ),
    ] = None,
    hide_accounts: HideAccounts = False,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 2 when they differ.")
    ] = False,
    output: Format = OutputFormat.TEXT,
) -> None:
    """Compares two folders that `trainrig plan --out` wrote: place and fallbacks, cost, pins, resources with rights and
    network first, findings, and the values and files of the root. What differs between any two plans, run id and hour,
    is left out.

    A folder whose files are not those of its manifest is refused.

    Examples: trainrig diff base plan; trainrig diff origin/main HEAD --job job.yaml
    """
    from trainrig.console import Console, hide
    from trainrig.lifecycle.comment import accounts_of
    from trainrig.lifecycle.compare import between
    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.diff import diff
    from trainrig.lifecycle.load_job import find_environment
    from trainrig.model.environment import account_ids
    from trainrig.reports import plan_diff

    console = Console(format=output.value)
    percent = plan_diff.TOLERANCE_PERCENT if tolerance is None else Decimal(str(tolerance))
    if job is None:
        if hide_accounts:
            hide(accounts_of(Path(old), Path(new)))
        found = diff(Path(old), Path(new), tolerance_percent=percent)
    else:
        with opened(find_environment(env)) as context:
            if hide_accounts:
                hide(account_ids(context.environment))
            found = between(
                context,
                job,
                (old, new),
                environment=env,
                overrides=overrides or (),
                tolerance_percent=percent,
            )
    match output:
        case OutputFormat.JSON:
            console.document(plan_diff.to_document(found))
        case OutputFormat.MD | OutputFormat.GITHUB:
            console.data(plan_diff.markdown(found))
        case OutputFormat.TEXT:
            console.data(plan_diff.text(found))
    if detailed_exitcode and not found.same:
        raise typer.Exit(CHANGES)
