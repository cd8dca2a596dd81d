"""diff: what differs between two plans of a job."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer

from trainrig.commands.options import Format, OutputFormat

CHANGES = 2


def command(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="The folder of a plan.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The folder of another plan of the job.")],
    tolerance: Annotated[
        float, typer.Option("--tolerance", metavar="PERCENT", help="Amounts of money that moved by less are the same.")
    ] = 5,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 2 when they differ.")
    ] = False,
    output: Format = OutputFormat.TEXT,
) -> None:
    """Compares two folders that `trainrig plan --out` wrote: place and fallbacks, cost, pins, resources with rights and
    network first, findings, and the values and files of the root. What differs between any two plans, run id and hour,
    is left out.

    A folder whose files are not those of its manifest is refused.
    """
    from trainrig.console import Console
    from trainrig.lifecycle.diff import diff
    from trainrig.reports import plan_diff

    console = Console(format=output.value)
    found = diff(old, new, tolerance_percent=Decimal(str(tolerance)))
    match output:
        case OutputFormat.JSON:
            console.document(plan_diff.to_document(found))
        case OutputFormat.MD | OutputFormat.GITHUB:
            console.data(plan_diff.markdown(found))
        case OutputFormat.TEXT:
            console.data(plan_diff.text(found))
    if detailed_exitcode and not found.same:
        raise typer.Exit(CHANGES)
