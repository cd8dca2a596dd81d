"""comment: show a plan on its pull or merge request, in one comment that is kept up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainrig.commands.options import HideAccounts, Quiet


def command(
    plan: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="A folder from trainrig plan --out.")] = None,
    base: Annotated[
        Path | None, typer.Option("--base", metavar="DIR", help="The plan of the base branch, to show what differs.")
    ] = None,
    state: Annotated[str, typer.Option("--state", help="planned, applied, failed, destroyed or expired.")] = "planned",
    run_id: Annotated[
        str | None, typer.Option("--run-id", metavar="ID", help="In place of DIR: the comment that shows this run.")
    ] = None,
    expired: Annotated[
        bool,
        typer.Option("--expired", help="In place of DIR: all whose time is over, on GitHub."),
    ] = False,
    label: Annotated[str, typer.Option("--label", help="Tells several comments of one rig apart.")] = "",
    repository: Annotated[str | None, typer.Option("--repo", metavar="OWNER/NAME", help="Else the pipeline's.")] = None,
    number: Annotated[str | None, typer.Option("--pr", metavar="NUMBER", help="Else the pipeline's.")] = None,
    hide_accounts: HideAccounts = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the text, ask nobody.")] = False,
    quiet: Quiet = False,
) -> None:
    """Writes one comment a rig, and changes it only when more than prices moved, by more than 10 %. An older run never
    overwrites a newer comment. On GitHub the token is GITHUB_TOKEN or GH_TOKEN, on GitLab GITLAB_TOKEN.

    Without a plan, --run-id and --state tell how it went on with a run, and --expired says of plans and rigs that their
    time is over, on all pull requests of the repository: for a schedule, beside sweep.

    Examples:

      trainrig comment plan --base base

      trainrig comment plan --state applied

      trainrig comment --run-id 0a1b2c3d --state destroyed

      trainrig comment --expired
    """
    import os

    from trainrig.console import Console, hide
    from trainrig.errors import UsageError
    from trainrig.lifecycle.comment import accounts_of, body, expire, post, settle
    from trainrig.store import plan_folder

    console = Console(quiet=quiet)
    if [plan is not None, run_id is not None, expired].count(True) != 1:
        raise UsageError("one of a plan's folder, --run-id and --expired", hint="trainrig comment --help")
    if plan is None:
        if dry_run or base or label:
            raise UsageError("--dry-run, --base and --label are of a plan", hint="trainrig comment DIR")
        if run_id is None:
            console.say(expire(environ=os.environ, repository=repository))
        else:
            console.say(settle(run_id, state=state, environ=os.environ, repository=repository, number=number))
        return
    for folder in plan_folder.plans_in(plan) or [plan]:
        beside = base
        if base and folder != plan:  # a job that the base does not have yet is compared with nothing
            beside = base / folder.name if plan_folder.plans_in(base / folder.name) else None
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
