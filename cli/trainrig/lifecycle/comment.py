"""Keeps the one comment of a plan up to date."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import cast, get_args

from trainrig import console
from trainrig.errors import UsageError
from trainrig.lifecycle.diff import diff
from trainrig.lifecycle.load_job import DEFAULT_ENVIRONMENT
from trainrig.model.clock import iso, utc_now
from trainrig.model.codec import build
from trainrig.model.environment import Environment, account_ids
from trainrig.model.plan import Plan
from trainrig.model.rig import RigIdentity
from trainrig.reports import plan_github, plan_json
from trainrig.reports.plan_diff import TOLERANCE_PERCENT
from trainrig.reports.plan_github import GITHUB_LIMIT, GITLAB_LIMIT, Comment, Marker, State
from trainrig.store import plan_folder
from trainrig.store.plan_folder import PlanFolder
from trainrig.tools import forge

LOOK_BACK = timedelta(days=14)  # twice the longest lease that an environment gives unless it says otherwise


def body(path: Path, *, base: Path | None, state: str, key: str, limit: int = GITHUB_LIMIT) -> Comment:
    """The comment on the plan in a folder. A final state is as new as now, a plan as old as its folder says.

    Raises:
        PlanStale: the folder is not as it was written.
        UsageError: no such state, or no plan.
    """
    final = _state(state)
    folder, plan = _read(path)
    found = None
    if base is not None:
        found = diff(base, path, tolerance_percent=TOLERANCE_PERCENT)
    at = folder.manifest["made_at"] if state == "planned" else iso(utc_now())
    return plan_github.comment(
        plan,
        key="/".join(filter(None, (plan.identity.name, key))),
        at=at,
        state=final,
        base=found,
        command=_command(path, folder, plan),
        until=iso(plan.expires_at if state == "planned" else utc_now() + timedelta(seconds=plan.lease_seconds)),
        limit=limit,
    )


def _command(path: Path, folder: PlanFolder, plan: Plan) -> str:
    """What applies this plan and no other: by its digest where `apply` can make the plan anew, else by its folder."""
    options = folder.manifest["job"]
    if any(options["flags"].values()) or options["jobs"] > 1:
        return shlex.join(["trainrig", "apply", str(path)])
    words = ["trainrig", "apply", options["file"], "--plan-digest", plan.digest]
    words += ["--ceiling", folder.manifest["price_ceiling_hour_usd"]]
    words += ["--cloud", options["cloud"]] if options["cloud"] else []
    words += _environment(folder.manifest["environment"])
    return shlex.join([*words, *(word for one in options["overrides"] for word in ("--set", one))])


def _environment(known: Mapping[str, str | None]) -> list[str]:
    """The option that names it, unless it is the one that serves without; a shipped one lies elsewhere elsewhere."""
    name, file = known["name"], known["file"]
    if name in {None, DEFAULT_ENVIRONMENT}:
        return []
    return ["--env", str(file if file and not Path(file).is_absolute() else name)]


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


def settle(run_id: str, *, state: str, environ: Mapping[str, str], repository: str | None, number: str | None) -> str:
    """Tells how it went on with a run in the comment that shows its plan, where there is one; needs no plan.

    Raises:
        UsageError: no such state, or which request it is cannot be told.
    """
    request = forge.find(environ, repository=repository, number=number)
    final = _state(state)
    return _settle(request, lambda marker: marker.run_id == run_id, final) or f"no comment shows the run {run_id}"


def expire(*, environ: Mapping[str, str], repository: str | None) -> str:
    """Marks as expired, on all pull requests of a GitHub repository, each plan and rig whose time is over."""
    now = utc_now()
    everywhere = forge.all_requests(environ, repository=repository, since=iso(now - LOOK_BACK))
    return (
        _settle(everywhere, lambda marker: plan_github.over(marker, iso(now)), "expired")
        or "no comment is past its time"
    )


def _settle(request: forge.Forge, wanted: Callable[[Marker], bool], state: State) -> str:
    console.hide([request.token])
    done = []
    for id_, text in list(request.comments()):
        marker = plan_github.read(text)
        if marker is not None and wanted(marker) and marker.state != state:
            request.update(id_, plan_github.settled(text, state=state, at=iso(utc_now())))
            done.append(f"{request.repository}: comment {id_} on {marker.key}: {state}")
    return "\n".join(done)


def _state(text: str) -> State:
    if text not in get_args(State):
        raise UsageError(f"--state {text}", hint=f"one of: {', '.join(get_args(State))}")
    return cast("State", text)


def accounts_of(*paths: Path) -> set[str]:
    """The account ids of the environments of plans."""
    folders = (plan_folder.read(path) for path in paths)
    return {i for folder in folders for i in account_ids(build(Environment, folder.document("environment.json")))}


def _read(path: Path) -> tuple[PlanFolder, Plan]:
    folder = plan_folder.read(path)
    identity = build(RigIdentity, folder.document("identity.json"))
    lease = int(folder.manifest["rig"]["lease_seconds"])
    return folder, plan_json.from_document(folder.document("plan.json"), identity, lease)
