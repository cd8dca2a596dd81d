"""run: run a job to its end: place, apply, train, recover, collect, destroy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from trainrig import errors
from trainrig.commands import options
from trainrig.console import Console

if TYPE_CHECKING:
    from trainrig.lifecycle.run import RunResult


def command(
    words: options.JobWords = None,
    gpu: options.Gpu = None,
    max_cost: options.MaxCost = None,
    timeout: options.Timeout = None,
    image: options.Image = None,
    env: options.Env = None,
    overrides: options.Set = None,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Return once the run is written down.")] = False,
    queue: Annotated[
        bool, typer.Option("--queue", help="Put the run on the queue, for the next trainrig worker that has room.")
    ] = False,
    drill: Annotated[
        bool, typer.Option("--drill", help="Take a node away once, after the first checkpoint, to see it recover.")
    ] = False,
    output_format: options.Format = options.OutputFormat.TEXT,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    yes: options.Yes = False,
) -> None:
    """Run a job to its end: place, apply, train, recover, collect, destroy.

    The exit code is 9 when the job itself failed; its own code is in the JSON. Ctrl-C stops the job, destroys the rig
    and exits with 130.

    Examples:

      trainrig run job.yaml

      trainrig run sweep.yaml --queue

      trainrig run --gpu H100:8 --max-cost 40 --timeout 10h -- torchrun train.py
    """
    from trainrig.lifecycle import run
    from trainrig.lifecycle.load_job import load_job
    from trainrig.reports import placement_text
    from trainrig.spec.from_flags import job_and_flags

    console = Console(format=output_format.value, quiet=quiet, verbose=verbose)
    path, flags = job_and_flags(words, gpu=gpu, max_cost=max_cost, timeout=timeout, image=image)
    jobs, environment = load_job(path, env, overrides or (), flags)
    for job in jobs:
        placement = run.placed(job, environment)
        console.say(placement_text.text(placement))
        if console.interactive and not yes and not console.confirm(f"run {job.name}?"):
            raise typer.Abort
        with console.progress() as observe, run.begun(job, environment, placement, observe, drill=drill) as started:
            console.say(f"run {started.run_id}: trainrig status {job.name}, trainrig destroy {job.name}")
            if queue:
                run.enqueue(started)
                continue
            if detach:
                run.detach(started)
                continue
            result = run.carry_out(started)
        report(console, result)


def report(console: Console, result: RunResult) -> None:
    """The run's last document, then, when it has one, its error.

    Raises:
        RigError: how the run ended, when not well.
    """
    if console.format == "json":
        said = errors.document(result.error) if result.error else None
        console.document(
            {**result.document, "error": said and {k: said[k] for k in ("code", "message", "hint")}}, line=True
        )
    else:
        document = result.document
        console.say(
            f"{document['name']}: {document['end']}, {document['recoveries']} recoveries, "
            f"{document['cost_usd']} USD, outputs in {document['outputs_path']}"
        )
        if document["checkpoint_advice"]:
            console.say(document["checkpoint_advice"])
        for name, value in document["metrics"].items():
            console.data(f"{name}: {value}")
    if result.error is not None:
        result.error.documented = console.format == "json"
        raise result.error
