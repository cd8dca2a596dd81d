"""Keeps the one comment of a plan up to date."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import cast, get_args

from trainrig import console
from trainrig.errors import UsageError
from trainrig.lifecycle.diff import diff
from trainrig.model.clock import iso, utc_now
from trainrig.model.codec import build
from trainrig.model.plan import Plan
from trainrig.model.rig import RigIdentity
from trainrig.reports import plan_github, plan_json
from trainrig.reports.plan_diff import TOLERANCE_PERCENT
from trainrig.reports.plan_github import GITHUB_LIMIT, GITLAB_LIMIT, Comment, State
from trainrig.store import plan_folder
from trainrig.store.plan_folder import PlanFolder
from trainrig.tools import forge

_ACCOUNT_IDS = {"account_id", "role_arn", "project", "subscription", "tenant"}


def body(path: Path, *, base: Path | None, state: str, key: str, limit: int = GITHUB_LIMIT) -> Comment:
    """The comment on the plan in a folder. A final state is as new as now, a plan as old as its folder says.

    Raises:
        PlanStale: the folder is not as it was written.
        UsageError: no such state, or no plan.
    """
    if state not in get_args(State):
        raise UsageError(f"--state {state}", hint=f"one of: {', '.join(get_args(State))}")
    folder, plan = _read(path)
    found = None
    if base is not None:
        found = diff(base, path, tolerance_percent=TOLERANCE_PERCENT)
    at = folder.manifest["made_at"] if state == "planned" else iso(utc_now())
    return plan_github.comment(
        plan,
        key="/".join(filter(None, (plan.identity.name, key))),
        at=at,
        state=cast("State", state),
        base=found,
        command=_command(path, folder, plan),
        limit=limit,
    )


def _command(path: Path, folder: PlanFolder, plan: Plan) -> str:
    """What applies this plan and no other: by its digest where `apply` can make the plan anew, else by its folder."""
    options = folder.manifest["job"]
    if any(options["flags"].values()) or len(plan_folder.plans_in(path.parent)) > 1:
        return shlex.join(["trainrig", "apply", str(path)])
    words = ["trainrig", "apply", options["file"], "--plan-digest", plan.digest]
    words += ["--ceiling", folder.manifest["price_ceiling_hour_usd"]]
    words += ["--cloud", options["cloud"]] if options["cloud"] else []
    return shlex.join([*words, *(word for one in options["overrides"] for word in ("--set", one))])


def post(
    path: Path,
    *,
    base: Path | None,
    state: str,
    label: str,
    environ: Mapping[str, str],
    repository: str | None,
    number: str | None,
) -> str:
    """What was done, for people."""
    request = forge.find(environ, repository=repository, number=number)
    console.hide([request.token])
    limit = GITHUB_LIMIT if request.kind == "github" else GITLAB_LIMIT
    comment = body(path, base=base, state=state, key=label, limit=limit)
    todo = plan_github.decide(comment.marker, request.comments())
    where = f"{request.repository} {request.number}"
    if todo.why is not None:
        return f"{where}: left as it is, {todo.why}"
    if todo.id is None:
        request.create(console.masked(comment.body))
        return f"{where}: commented"
    request.update(todo.id, console.masked(comment.body))
    return f"{where}: comment {todo.id} updated"


def account_ids(path: Path) -> set[str]:
    """What a plan's environment names of accounts: not secret, and nothing for everybody either."""
    clouds = plan_folder.read(path).document("environment.json")["clouds"]
    return {value for cloud in clouds for key, value in cloud["account"].items() if key in _ACCOUNT_IDS}


def _read(path: Path) -> tuple[PlanFolder, Plan]:
    folder = plan_folder.read(path)
    identity = build(RigIdentity, folder.document("identity.json"))
    lease = int(folder.manifest["rig"]["lease_seconds"])
    return folder, plan_json.from_document(folder.document("plan.json"), identity, lease)
