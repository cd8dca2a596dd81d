"""explain: where a job would run and why, with its whole bill; needs no network."""

from __future__ import annotations

from typing import Annotated

import typer

from trainrig.commands.options import (
    Env,
    Format,
    Gpu,
    Image,
    JobWords,
    MaxCost,
    OutputFormat,
    Set,
    Timeout,
)

ApproveBurst = Annotated[
    bool, typer.Option("--approve-burst", help="Accounts that ask first may spend past their credit.")
]
Rejected = Annotated[
    bool, typer.Option("--rejected", help="Each rejected offer with its reason, the nearest to fitting first.")
]


def command(
    words: JobWords = None,
    env: Env = None,
    overrides: Set = None,
    gpu: Gpu = None,
    max_cost: MaxCost = None,
    timeout: Timeout = None,
    image: Image = None,
    approve_burst: ApproveBurst = False,
    rejected: Rejected = False,
    output: Format = OutputFormat.TEXT,
) -> None:
    """Chooses among all known offers and shows the choice, what comes next if it cannot be had, and why not the rest.

    Exits with 5 when nothing fits.
    """
    from trainrig import errors
    from trainrig.console import Console
    from trainrig.lifecycle.load_job import load_job
    from trainrig.lifecycle.place import place
    from trainrig.model.clock import utc_now
    from trainrig.placement import unplaceable
    from trainrig.spec.from_flags import job_and_flags

    path, flags = job_and_flags(words, gpu=gpu, max_cost=max_cost, timeout=timeout, image=image)
    jobs, environment = load_job(path, env, overrides or (), flags)
    complete = rejected or output is OutputFormat.JSON
    now = utc_now()
    placements = [place(job, environment, now=now, complete=complete, burst_approved=approve_burst) for job in jobs]
    console = Console(format=output.value)
    match output:
        case OutputFormat.JSON:
            from trainrig.reports.placement_json import lines, to_document

            if len(placements) == 1:
                console.stream(lines(placements[0]))
            else:  # a pipeline: a document a line
                for placement in placements:
                    console.document(to_document(placement), line=True)
        case OutputFormat.TEXT:
            from trainrig.placement.decide import nearest_first
            from trainrig.reports.placement_text import text

            console.data("\n\n".join(text(p, nearest_first(p) if rejected else ()) for p in placements))
        case OutputFormat.MD | OutputFormat.GITHUB:
            from trainrig.reports.placement_markdown import markdown

            console.data("\n\n".join(markdown(placement) for placement in placements))
    failed = [unplaceable.error(p) for p in placements if p.chosen is None]
    for error in failed:
        console.error(f"error: {errors.render(error)}")
    if failed:
        raise typer.Exit(failed[0].exit_code)
