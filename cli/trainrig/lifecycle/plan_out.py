"""Writes a plan into its folder."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from trainrig import __version__
from trainrig.clouds import registry
from trainrig.errors import UsageError
from trainrig.lifecycle.plan import Planned
from trainrig.lifecycle.run_context import references
from trainrig.model.clock import iso
from trainrig.model.environment import Environment
from trainrig.model.job import Job
from trainrig.model.plan import LATE_BOUND
from trainrig.model.rig import digest_of
from trainrig.render import lockfile
from trainrig.render.job_document import plain, secrets_in
from trainrig.render.redact import redactor
from trainrig.reports import placement_json, plan_html, plan_json, plan_markdown
from trainrig.spec.from_flags import JobFlags
from trainrig.store import plan_folder

_REVIEWED = ("placement.json", "plan.json")
_HINT = "write it as `secrets: {NAME: env:NAME}` in the job file, and export NAME where the plan is applied"


def folders(out: Path, jobs: Sequence[Job]) -> list[Path]:
    """Where the plan of each job goes: `out` itself, of several jobs a folder in it that has the job's name.

    Raises:
        UsageError: two of them would have the same.
    """
    if len(jobs) == 1:
        return [out]
    if len({job.name for job in jobs}) < len(jobs):
        raise UsageError(f"two jobs of {jobs[0].source} have the same name", hint="give each job a name of its own")
    return [out / job.name for job in jobs]


def write(
    planned: Planned,
    out: Path,
    *,
    overrides: Sequence[str],
    flags: JobFlags | None = None,
    cloud: str | None,
    jobs: int = 1,
    hidden: Collection[str] = (),
) -> dict[str, Any]:
    """The manifest of what was written. `overrides`, `flags` and `cloud`: the options of the plan, by which the job is
    read again when it is applied; `jobs`: how many its file holds. `hidden`: what the documents for reviewers
    do not show; the root and environment.json are what is applied, and have it.

    Raises:
        UsageError: `out` holds something else, or an option of the plan holds a secret.
    """
    flags = flags or JobFlags()
    _require_no_secret(overrides, flags)
    plan, job = planned.plan, planned.job
    shown = _without_secrets({**plain(job), "secrets": references(job)}, secrets_in(job))
    documents: dict[str, Any] = {
        "placement.json": placement_json.to_document(plan.placement),
        "plan.json": plan_json.to_document(plan, plan_folder.ROOT),
        "job.json": shown,
        "environment.json": plain(planned.environment),
        "identity.json": plain(plan.identity),
    }
    mask = redactor(hidden)
    documents |= {name: mask.strings(documents[name]) for name in _REVIEWED}
    files = {
        **{f"{plan_folder.ROOT}/{path}": text for path, text in planned.files.items()},
        **{name: json.dumps(document, ensure_ascii=False, indent=2) + "\n" for name, document in documents.items()},
        "summary.md": mask.text(plan_markdown.markdown(plan) + "\n", guess=False),
        "plan.html": mask.text(plan_html.page(plan), guess=False),
        lockfile.FILE_NAME: lockfile.text(planned.lock),
    }
    facts = _facts(planned, _withheld(plain(job), shown))
    options = {"overrides": list(overrides), "flags": plain(flags), "cloud": cloud, "jobs": jobs}
    manifest = plan_folder.write(out, files, {**facts, "job": {**facts["job"], **options}})
    own = plan.chosen.offer.cloud
    if registry.has(own, "provider"):
        registry.provider(own).lay_plugin(out / plan_folder.ROOT)
    return manifest


def _without_secrets(job: dict[str, Any], secrets: Collection[str]) -> dict[str, Any]:
    """A job's document for a folder that others read: what looks like a secret is not in it; of `secrets`, where each
    is found stays, without any value."""
    return {**redactor(secrets).document(job), "secrets": job["secrets"]}


def _withheld(job: Mapping[str, Any], shown: Mapping[str, Any]) -> list[str]:
    """What of a job is not in its folder as it is, so that it can be applied only where the job's file is."""
    env = [f"envs.{name}" for name, value in job["env"].items() if shown["env"][name] != value]
    return [*(name for name in job if name not in {"env", "secrets"} and shown[name] != job[name]), *env]


def _require_no_secret(overrides: Sequence[str], flags: JobFlags) -> None:
    """The options of a plan are kept in its folder, since the job is read with them again."""
    clean = redactor(())
    for override in overrides:
        key, _, value = override.partition("=")
        last = key.rpartition(".")[2]
        is_value = key.startswith("secrets") and not value.startswith(("env:", "file:"))
        if is_value or clean.document({last: value}) != {last: value}:
            raise UsageError(f"--set {key} holds a secret, and a plan's folder keeps its options", hint=_HINT)
    if clean.document(plain(flags)) != plain(flags):
        raise UsageError("the command holds a secret, and a plan's folder keeps it", hint=_HINT)


def _facts(planned: Planned, withheld: list[str]) -> dict[str, Any]:
    plan, job = planned.plan, planned.job
    stamp = plan.placement.catalog
    return {
        "rig": {"name": plan.identity.name, "run_id": plan.identity.run_id, "lease_seconds": plan.lease_seconds},
        "job": {"file": job.source, "withheld": withheld},
        "job_digest": job.digest,
        "environment": {"name": planned.environment.name, "file": planned.environment.source},
        "environment_digest": environment_digest(planned.environment),
        "lock_digest": digest_of(lockfile.text(planned.lock)),
        "plan_digest": plan.digest,
        "terraform_digest": plan.terraform_digest,
        "late_bound": {
            "names": list(LATE_BOUND),
            "values": plain(planned.late),
            "why": "the machine that applies fills these in; no digest of this manifest but the files' own covers them",
        },
        "catalog": {
            "digest": stamp.digest,
            "captured_at": None if stamp.captured_at is None else iso(stamp.captured_at),
            "age_hours": stamp.age_hours,
        },
        "price_ceiling_hour_usd": placement_json.price_text(plan.ceiling_hour_usd),
        "state_serial": planned.serial,
        "tools": {
            "trainrig": __version__,
            "terraform": planned.terraform,
            "providers": {name: pin.version for name, pin in sorted(planned.lock.providers.items())},
        },
        "offline": plan.offline,
        "made_at": iso(planned.made_at),
        "expires_at": iso(plan.expires_at),
    }


def environment_digest(environment: Environment) -> str:
    """Of what an environment says, wherever its file lies."""
    meaning = {k: v for k, v in plain(environment).items() if k != "source"}
    return digest_of(json.dumps(meaning, sort_keys=True))
