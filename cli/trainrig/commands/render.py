"""render: write a rig's Terraform root into a folder, to read or to use with plain terraform."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainrig.commands.options import Env, Format, JobArg, OutputFormat, Quiet, Set


def command(
    job: JobArg,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new folder, or one of an earlier render.")],
    cloud: Annotated[str | None, typer.Option("--cloud", metavar="CLOUD", help="Best offer of this cloud.")] = None,
    env: Env = None,
    overrides: Set = None,
    run_id: Annotated[
        str | None, typer.Option("--run-id", metavar="ID", help="Instead of one made from the job.")
    ] = None,
    ssh_public_key: Annotated[
        Path | None, typer.Option("--ssh-public-key", metavar="FILE", help="Instead of a key pair made for the rig.")
    ] = None,
    ingress: Annotated[
        list[str] | None, typer.Option("--ingress", metavar="CIDR", help="Who may reach SSH. Repeatable.")
    ] = None,
    output: Format = OutputFormat.TEXT,
    quiet: Quiet = False,
) -> None:
    """Writes a rig's Terraform root into a folder. Asks no cloud, needs no credentials, and gives the same bytes for
    the same inputs.

    In the folder, `terraform init`, `plan`, `apply` and `destroy` work as everywhere; trainrig does not know of what is
    applied there by hand. Several jobs in one file get a folder each.
    """
    from trainrig.console import Console
    from trainrig.lifecycle.load_job import load_job
    from trainrig.lifecycle.render_job import render_job

    console = Console(format=output.value, quiet=quiet)
    jobs, environment = load_job(job, env, overrides or ())
    for one in jobs:
        folder = out if len(jobs) == 1 else out / one.name
        rendered = render_job(
            one,
            environment,
            folder,
            cloud=cloud,
            run_id=run_id,
            ssh_public_key=ssh_public_key.read_text(encoding="utf-8").strip() if ssh_public_key else None,
            ingress=tuple(ingress or ()),
        )
        offer = rendered.request.candidate.offer
        for note in rendered.notes:
            console.say(f"note: {note}")
        if output is OutputFormat.JSON:
            console.document(
                {
                    "schema": "trainrig.render/1",
                    "root": str(folder),
                    "rig": rendered.request.identity.resource_prefix,
                    "cloud": offer.cloud,
                    "region": offer.region,
                    "zone": offer.zone,
                    "instance_type": offer.instance_type,
                    "market": offer.market.value,
                    "nodes": rendered.request.nodes,
                    "image": rendered.request.image.id,
                    "files": list(rendered.paths),
                },
                line=len(jobs) > 1,
            )
        else:
            console.data(f"{folder}: {one.name} on {offer.cloud} {offer.place}, {len(rendered.paths)} files")
