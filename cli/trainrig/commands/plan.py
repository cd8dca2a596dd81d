"""plan: freeze placement, root, lock and Terraform plan of a job, for review."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainrig.commands.options import (
    Cloud,
    Env,
    Format,
    Gpu,
    HideAccounts,
    Image,
    JobWords,
    MaxCost,
    OutputFormat,
    Quiet,
    RunId,
    Set,
    Timeout,
)

CHANGES = 2


def command(
    words: JobWords = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Keep the plan there, for review and apply DIR.")
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="No credentials, providers or network: say what that leaves unknown.")
    ] = False,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 2 when there is something to change.")
    ] = False,
    gpu: Gpu = None,
    max_cost: MaxCost = None,
    timeout: Timeout = None,
    image: Image = None,
    cloud: Cloud = None,
    env: Env = None,
    overrides: Set = None,
    run_id: RunId = None,
    binary: Annotated[
        Path | None,
        typer.Option("--binary-plan", metavar="FILE", help="Terraform's own plan file, which holds all in clear."),
    ] = None,
    hide_accounts: HideAccounts = False,
    output: Format = OutputFormat.TEXT,
    quiet: Quiet = False,
) -> None:
    """Creates nothing. Shows where the job would run and why, what that costs, and every resource that would be made;
    with --out, writes it all into a folder that `trainrig apply DIR` applies as it was reviewed.

    Several jobs in one file get a plan each, in a folder of DIR that has the job's name. Exits with 5 when no offer
    fits, with --detailed-exitcode 0 for no changes and 2 for changes.

    Examples:

      trainrig plan job.yaml --out plan

      trainrig plan job.yaml --offline --format github

      trainrig plan --gpu H100:8 --max-cost 40 -- torchrun train.py
    """
    from trainrig.console import Console, hide
    from trainrig.errors import UsageError
    from trainrig.lifecycle import plan, plan_out
    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.load_job import load_job
    from trainrig.model.environment import account_ids
    from trainrig.reports import plan_json, plan_markdown, plan_text
    from trainrig.spec.from_flags import job_and_flags

    console = Console(format=output.value, quiet=quiet)
    path, flags = job_and_flags(words, gpu=gpu, max_cost=max_cost, timeout=timeout, image=image)
    jobs, environment = load_job(path, env, overrides or (), flags)
    if offline and binary:
        raise UsageError("--offline makes no binary plan")
    if len(jobs) > 1 and (binary or run_id):
        raise UsageError(
            f"{path} holds {len(jobs)} jobs, and --run-id and --binary-plan are of one rig",
            hint="give each job a file of its own",
        )
    hidden = account_ids(environment) if hide_accounts else set()
    hide(hidden)
    folders = plan_out.folders(out, jobs) if out else [None] * len(jobs)
    found = []
    with console.progress() as observe, opened(environment, observe=observe) as context:
        for job, folder in zip(jobs, folders, strict=True):
            planned = plan.plan(
                context,
                job,
                environment,
                keep=folder is not None,
                cloud=cloud,
                run_id=run_id,
                offline=offline,
                binary=binary,
            )
            if folder is not None:
                plan_out.write(
                    planned,
                    folder,
                    overrides=overrides or (),
                    flags=flags,
                    cloud=cloud,
                    jobs=len(jobs),
                    hidden=hidden,
                )
            found.append(planned.plan)
    match output:
        case OutputFormat.JSON:
            for one, folder in zip(found, folders, strict=True):  # a pipeline: a document a line
                root = str(folder / "root") if folder else None
                console.document(plan_json.to_document(one, root), line=len(found) > 1)
        case OutputFormat.TEXT:
            texts = (plan_text.text(one, str(f) if f else None) for one, f in zip(found, folders, strict=True))
            console.data("\n\n".join(texts))
        case OutputFormat.MD | OutputFormat.GITHUB:
            console.data("\n\n".join(map(plan_markdown.markdown, found)))
    if detailed_exitcode and any(one.resources for one in found):
        raise typer.Exit(CHANGES)
