"""A plan that is frozen for review, and the apply of exactly it.

The folder holds what was decided (job, environment, placement, identity), the Terraform root of the first candidate,
and `manifest.json`: the digest of each file and of everything outside that the plan depends on. `thaw` refuses when one
of them has moved. The fallbacks are approved by the placement and rendered when they are needed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from trainrig import __version__
from trainrig.errors import PlanStale, RigError
from trainrig.lifecycle import pins
from trainrig.lifecycle.apply import Order
from trainrig.lifecycle.apply_job import Applied
from trainrig.lifecycle.attempt import Review
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.load_job import load_job
from trainrig.lifecycle.order import order_of
from trainrig.lifecycle.run_context import RunContext, documents
from trainrig.model.clock import iso
from trainrig.model.codec import build
from trainrig.model.environment import Environment
from trainrig.model.job import Job
from trainrig.model.placement import Candidate
from trainrig.model.rig import RigIdentity, digest_of
from trainrig.render.job_document import plain
from trainrig.reports import placement_json
from trainrig.store.workdir import write_atomic
from trainrig.tools import ssh
from trainrig.tools.terraform_plan import TerraformPlan

SCHEMA = "trainrig.manifest/1"
MANIFEST = "manifest.json"
ROOT = "root"
KEEPS = timedelta(hours=24)  # how long a plan may wait for its review
# What Terraform and the local cloud keep beside a root for this machine alone.
_NOT_REVIEWED = {".terraform", ".terraform.lock.hcl", "terraform.d", "terraform.jsonl", "tfplan"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Frozen:
    manifest: Mapping[str, Any]
    plan: TerraformPlan | None  # None: offline, Terraform was not asked


def freeze(
    context: Context, run: RunContext, out: Path, *, overrides: Sequence[str] = (), offline: bool = False
) -> Frozen:
    """Writes the plan of a rig that does not exist yet into `out`, which is new or an older plan.

    Raises:
        TerraformFailed, UnsafePlan: the plan cannot be made, or does more than create.
    """
    shutil.rmtree(out / ROOT, ignore_errors=True)
    order = order_of(run.job, run.environment, run.placement.candidates, identity=run.identity, rig=run.rig)
    first = order.candidates[0]
    order.make_root(first, out / ROOT, "1-1")
    texts = {**documents(run), "identity.json": plain(run.identity)}
    for name, document in texts.items():
        write_atomic(out / name, (json.dumps(document, indent=1) + "\n").encode())
    plan = None if offline else _planned(context, out / ROOT, first)
    manifest = {
        "schema": SCHEMA,
        "run_id": run.run_id,
        "files": _files(out),
        "job_digest": run.job.digest,
        "lock_digest": _lock_digest(run.job),
        "overrides": list(overrides),
        "environment_source": run.environment.source,
        "plan_digest": None if plan is None else plan.digest,
        "state_serial": 0,
        "ceiling_hour_usd": str(order.ceiling),
        "catalog": placement_json.to_document(run.placement)["catalog"],
        "tools": {"trainrig": __version__},
        "expires_at": iso(context.now() + KEEPS),
    }
    write_atomic(out / MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
    return Frozen(manifest=manifest, plan=plan)


def thaw(context: Context, folder: Path) -> Applied:
    """The order that a frozen plan is, once everything it depends on is proven unmoved.

    Raises:
        PlanStale: with what has moved.
    """
    manifest = _manifest(folder)
    if context.now() > datetime.fromisoformat(manifest["expires_at"]):
        raise _stale(f"the plan was good until {manifest['expires_at']}")
    found, wanted = _files(folder), manifest["files"]
    moved = sorted(n for n in {*found, *wanted} if found.get(n) != wanted.get(n))
    if moved:
        raise _stale(f"changed since the plan: {', '.join(moved)}")
    run = _run(context, folder)
    if any(r.run_id == run.run_id for r in context.journal.rigs(all_rigs=True) if r.clean):
        raise _stale(f"this plan was applied before, as run {run.run_id}, and that rig is gone")
    _require_same_job(run.job, manifest)
    order = order_of(run.job, run.environment, run.placement.candidates, identity=run.identity, rig=run.rig)
    review = Review(digest=manifest["plan_digest"], settle=partial(_own_key, run)) if manifest["plan_digest"] else None
    order = replace(
        order,
        make_root=partial(_make_root, order, folder / ROOT),
        ceiling_hour_usd=Decimal(manifest["ceiling_hour_usd"]),
        review=review,
    )
    return Applied(run=run, order=order, begun=False)


def _make_root(order: Order, reviewed: Path, candidate: Candidate, root: Path, attempt: str) -> None:
    """The reviewed root for the first attempt on the first candidate, a new one for all others."""
    if attempt != "1-1" or candidate is not order.candidates[0]:
        order.make_root(candidate, root, attempt)
        return
    shutil.copytree(reviewed, root, ignore=shutil.ignore_patterns(*_NOT_REVIEWED - {"terraform.d"}))


def _own_key(run: RunContext, root: Path) -> bool:
    """Lets this machine into the nodes: the private key of the plan never left the machine that planned. True when the
    root was changed for it."""
    path = root / "terraform.tfvars.json"
    text = path.read_text(encoding="utf-8")
    planned, own = json.loads(text)["ssh_public_key"], ssh.make_key(run.rig.path)
    if planned == own:
        return False
    write_atomic(path, text.replace(planned, own).encode())
    return True


def _planned(context: Context, root: Path, candidate: Candidate) -> TerraformPlan:
    with context.terraform(root, candidate.offer.cloud) as terraform:
        terraform.init().check()
        terraform.plan().check()
        plan = terraform.show_plan()
    plan.raise_if_unsafe()
    return plan


def _require_same_job(job: Job, manifest: Mapping[str, Any]) -> None:
    """The job file and the lock as they are now, where they can be seen from here."""
    if not job.source or not Path(job.source).is_file():
        return
    try:
        jobs, _ = load_job(Path(job.source), manifest["environment_source"], manifest["overrides"])
    except RigError as error:
        raise _stale(f"{job.source} cannot be read any more: {error.message}") from error
    if manifest["job_digest"] not in {j.digest for j in jobs}:
        raise _stale(f"{job.source} has changed since the plan")
    if manifest["lock_digest"] != _lock_digest(job):
        raise _stale("the lock has changed since the plan")


def _run(context: Context, folder: Path) -> RunContext:
    def read(name: str) -> Any:
        return json.loads((folder / name).read_text(encoding="utf-8"))

    return RunContext(
        identity=build(RigIdentity, read("identity.json")),
        job=build(Job, read("job.json")),
        environment=build(Environment, read("environment.json")),
        placement=placement_json.from_document(read("placement.json")),
        observe=context.observe,
    )


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _stale(f"{folder} holds no plan: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise _stale(f"{folder / MANIFEST} is not a {SCHEMA} document")
    return manifest


def _files(folder: Path) -> dict[str, str]:
    """Digests of all that is reviewed, by path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not _NOT_REVIEWED & set(name.parts) and name.as_posix() != MANIFEST:
            found[name.as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _lock_digest(job: Job) -> str:
    path = pins.lock_path(job)
    return digest_of(path.read_bytes() if path.is_file() else b"")


def _stale(why: str) -> PlanStale:
    return PlanStale(why, hint="plan again, and have it reviewed again")
