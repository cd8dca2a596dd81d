"""lock: fix images, containers and providers in trainrig.lock, to be committed."""

from __future__ import annotations

from typing import Annotated

import typer

from trainrig.commands.options import Env, Format, JobArg, OutputFormat, Quiet, Set


def command(
    job: JobArg,
    env: Env = None,
    overrides: Set = None,
    offline: Annotated[bool, typer.Option("--offline", help="Ask nobody: write what is pinned already.")] = False,
    output: Format = OutputFormat.TEXT,
    quiet: Quiet = False,
) -> None:
    """Asks the clouds for exact machine images and the registries for container digests, and writes trainrig.lock
    beside the job file. Prints what moved. plan, render, apply and run use the lock alone.

    Clouds without credentials are left out and said; their images stay as they are pinned.
    """
    from trainrig.console import Console
    from trainrig.lifecycle.load_job import load_job
    from trainrig.lifecycle.lock import lock

    console = Console(format=output.value, quiet=quiet)
    jobs, environment = load_job(job, env, overrides or ())
    with console.progress() as observe:
        locked = lock(jobs, environment, observe, offline=offline)
    for note in locked.notes:
        console.say(f"note: {note}")
    if output is OutputFormat.JSON:
        console.document(
            {
                "schema": "trainrig.lock_changes/1",
                "path": str(locked.path),
                "changes": list(locked.changes),
                "notes": list(locked.notes),
            }
        )
        return
    for line in locked.changes or ("nothing moved",):
        console.data(line)
    console.say(f"wrote {locked.path}; commit it")
