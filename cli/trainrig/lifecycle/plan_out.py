"""Writes a plan into its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainrig import __version__
from trainrig.clouds import registry
from trainrig.lifecycle.plan import Planned
from trainrig.lifecycle.run_context import references
from trainrig.model.clock import iso
from trainrig.model.environment import Environment
from trainrig.model.plan import LATE_BOUND
from trainrig.model.rig import digest_of
from trainrig.render import lockfile
from trainrig.render.job_document import plain
from trainrig.render.redact import redactor
from trainrig.render.root import to_json
from trainrig.reports import placement_json, plan_html, plan_json, plan_markdown
from trainrig.store import plan_folder


def write(planned: Planned, out: Path, *, overrides: Sequence[str], cloud: str | None) -> dict[str, Any]:
    """The manifest of what was written. `overrides` and `cloud`: the options of the plan, by which the job is read
    again when it is applied.

    Raises:
        UsageError: `out` holds something else.
    """
    plan, job = planned.plan, planned.job
    documents: Mapping[str, Any] = {
        "placement.json": placement_json.to_document(plan.placement),
        "plan.json": plan_json.to_document(plan, plan_folder.ROOT),
        "job.json": _without_secrets({**plain(job), "secrets": references(job)}),
        "environment.json": plain(planned.environment),
        "identity.json": plain(plan.identity),
    }
    files = {
        **{f"{plan_folder.ROOT}/{path}": text for path, text in planned.files.items()},
        f"{plan_folder.ROOT}/job.json": to_json(_without_secrets(json.loads(planned.files["job.json"]))),
        **{name: json.dumps(document, ensure_ascii=False, indent=2) + "\n" for name, document in documents.items()},
        "summary.md": plan_markdown.markdown(plan) + "\n",
        "plan.html": plan_html.page(plan),
        lockfile.FILE_NAME: lockfile.text(planned.lock),
    }
    manifest = plan_folder.write(out, files, _facts(planned, overrides, cloud))
    own = plan.chosen.offer.cloud
    if registry.has(own, "provider"):
        registry.provider(own).lay_plugin(out / plan_folder.ROOT)
    return manifest


def _without_secrets(job: dict[str, Any]) -> dict[str, Any]:
    """A job's document for a folder that others read: a secret that was written as a plain variable is not in it."""
    return {**job, "env": redactor(()).document(job["env"])}


def _facts(planned: Planned, overrides: Sequence[str], cloud: str | None) -> dict[str, Any]:
    plan, job = planned.plan, planned.job
    stamp = plan.placement.catalog
    return {
        "rig": {"name": plan.identity.name, "run_id": plan.identity.run_id, "lease_seconds": plan.lease_seconds},
        "job": {"file": job.source, "overrides": list(overrides), "cloud": cloud},
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
