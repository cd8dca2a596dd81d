"""comment: show a plan on its pull or merge request, in one comment that is kept up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainrig.commands.options import HideAccounts, Quiet


def command(
    plan: Annotated[Path, typer.Argument(metavar="DIR", help="A folder from trainrig plan --out.")],
    base: Annotated[
        Path | None, typer.Option("--base", metavar="DIR", help="The plan of the base branch, to show what differs.")
    ] = None,
    state: Annotated[str, typer.Option("--state", help="planned, applied, failed, destroyed or expired.")] = "planned",
    label: Annotated[str, typer.Option("--label", help="Tells several comments of one rig apart.")] = "",
    repository: Annotated[str | None, typer.Option("--repo", metavar="OWNER/NAME", help="Else the pipeline's.")] = None,
    number: Annotated[str | None, typer.Option("--pr", metavar="NUMBER", help="Else the pipeline's.")] = None,
    hide_accounts: HideAccounts = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the text, ask nobody.")] = False,
    quiet: Quiet = False,
) -> None:
    """Writes one comment a rig, and changes it only when more than prices moved, by more than 10 %. An older run
    never overwrites a newer comment. On GitHub the token is GITHUB_TOKEN or GH_TOKEN, on GitLab GITLAB_TOKEN.

    Examples: trainrig comment plan; trainrig comment plan --state applied; trainrig comment plan --dry-run
    """
    import os

    from trainrig.console import Console, hide
    from trainrig.lifecycle.comment import accounts_of, body, post
    from trainrig.store import plan_folder

    console = Console(quiet=quiet)
    for folder in plan_folder.plans_in(plan) or [plan]:
        beside = base / folder.name if base and folder != plan else base
        if hide_accounts:
            hide(accounts_of(folder))
        if dry_run:
            console.data(body(folder, base=beside, state=state, key=label).body)
        else:
            console.say(
                post(
                    folder,
                    base=beside,
                    state=state,
                    label=label,
                    environ=os.environ,
                    repository=repository,
                    number=number,
                )
            )
