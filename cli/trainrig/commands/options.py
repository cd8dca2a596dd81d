"""Options that many verbs share, so that they look and mean the same everywhere."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class OutputFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    MD = "md"
    GITHUB = "github"


def _run_id(text: str | None) -> str | None:
    """A digit keeps it apart from the words of a job, which digests of plans rely on."""
    if text is not None and not re.fullmatch(r"(?=[a-z]*[0-9])[a-z0-9]{8}", text):
        raise typer.BadParameter("eight of a-z and 0-9, with a digit among them")
    return text


Env = Annotated[
    str | None,
    typer.Option(
        "--env",
        metavar="NAME|FILE",
        help="Environment: a name of environments/, or a file.",
        envvar="TRAINRIG_ENV",
    ),
]
Format = Annotated[OutputFormat, typer.Option("--format", help="What stdout carries.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the job file, dots for nesting. Repeatable."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only results and errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Every step.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
# run, plan and explain take a job file, or its main keys as options and the command after `--`:
# `path, flags = job_and_flags(words, gpu=gpu, max_cost=max_cost, timeout=timeout, image=image)`, then load_job().
JobWords = Annotated[
    list[str] | None,
    typer.Argument(metavar="[JOB] [-- CMD...]", help="The job file; or, with --gpu and the like, the command."),
]
Gpu = Annotated[str | None, typer.Option("--gpu", metavar="NAME:COUNT", help="GPUs of a node, as in H100:8.")]
MaxCost = Annotated[str | None, typer.Option("--max-cost", metavar="USD", help="The whole bill must stay below.")]
Timeout = Annotated[str | None, typer.Option("--timeout", metavar="TIME", help="Stop the run after, as in 10h.")]
Image = Annotated[str | None, typer.Option("--image", metavar="IMAGE", help="The container.")]
JobArg = Annotated[Path, typer.Argument(metavar="JOB", help="The job file.")]
RigArg = Annotated[str, typer.Argument(metavar="RIG", help="The rig's name or run id.")]
RunId = Annotated[
    str | None,
    typer.Option(
        "--run-id",
        metavar="ID",
        envvar="TRAINRIG_RUN_ID",
        callback=_run_id,
        help="Eight of a-z and 0-9, known before anything is made; without it, a new one.",
    ),
]
Cloud = Annotated[
    str | None, typer.Option("--cloud", metavar="CLOUD", help="Consider this cloud of the environment alone.")
]
HideAccounts = Annotated[
    bool,
    typer.Option(
        "--hide-accounts",
        envvar="TRAINRIG_HIDE_ACCOUNTS",
        help="Show no account, project, subscription and tenant of the environment.",
    ),
]
