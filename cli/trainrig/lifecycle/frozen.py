"""Applies a plan as it was reviewed, or nothing.

The folder of a plan is proven to be what was written, and everything outside that it depends on to be unmoved. Then the
reviewed root gets what only this machine has (SSH key, own address, lease hour), Terraform plans it again, and only a
plan of the same meaning is applied. Fallbacks come from the reviewed list and are rendered when they are needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from trainrig.clouds import registry
from trainrig.errors import PlanStale, RigError
from trainrig.lifecycle import pins, plan_resources
from trainrig.lifecycle.apply import Quote
from trainrig.lifecycle.apply_job import Applied
from trainrig.lifecycle.caller import ssh_ingress
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.load_job import find_environment, load_job
from trainrig.lifecycle.order import order_of
from trainrig.lifecycle.plan import digest, only, terraform_digest
from trainrig.lifecycle.plan_out import environment_digest
from trainrig.lifecycle.quotes import quotes
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.codec import build
from trainrig.model.environment import Environment
from trainrig.model.job import Job
from trainrig.model.money import dollars
from trainrig.model.placement import Candidate
from trainrig.model.rig import RigIdentity, digest_of
from trainrig.render import lockfile
from trainrig.render.identity import lease_end
from trainrig.render.late_bound import TFVARS, LateBound, tfvars_for
from trainrig.reports import placement_json
from trainrig.spec.from_flags import JobFlags
from trainrig.store import plan_folder, workdir
from trainrig.store.plan_folder import PlanFolder
from trainrig.tools import ssh, terraform_state
from trainrig.tools.terraform import Terraform
from trainrig.tools.terraform_plan import TerraformPlan

FIRST = "1-1"
BACKEND = "backend.tf.json"


def thaw(context: Context, path: Path) -> Applied:
    """The order that a reviewed plan is.

    Raises:
        PlanStale: with what has moved.
        UsageError: there is no plan in that folder.
    """
    folder = plan_folder.read(path)
    manifest = folder.manifest
    if context.now() >= datetime.fromisoformat(manifest["expires_at"]):
        raise _stale(f"the plan was good until {manifest['expires_at']}")
    _require_same_inputs(build(Job, folder.document("job.json")), manifest)
    run, begun = _run(context, folder)
    ceiling = Decimal(manifest["price_ceiling_hour_usd"])
    order = order_of(
        context,
        run.job,
        run.environment,
        run.placement.candidates,
        identity=run.identity,
        rig=run.rig,
        lock=lockfile.parse(folder.files[lockfile.FILE_NAME], lockfile.FILE_NAME),
    )

    files: dict[str, str] = {}
    first, rendered = order.candidates[0], order.make_root

    def make_root(candidate: Candidate, root: Path, attempt: str) -> None:
        if candidate is first:
            files.update(_reviewed_root(folder, run, root, attempt))
        else:
            rendered(candidate, root, attempt)

    def review(terraform: Terraform, plan: TerraformPlan) -> None:
        _require_state(terraform, manifest["state_serial"] or 0)
        _require_plan(run, files, plan, manifest)

    order = replace(
        order,
        make_root=make_root,
        ceiling_hour_usd=ceiling,
        quote=_affordable(run, ceiling, context),
        review=review,
        details={**order.details, "plan_digest": manifest["plan_digest"]},
    )
    return Applied(run=run, order=order, begun=begun)


def require(applied: Applied, plan_digest: str, ceiling: Decimal) -> Applied:
    """An order made now, held to a plan that was reviewed elsewhere; `ceiling` is the approved price of an hour."""
    made = applied.order.make_root
    files: dict[str, str] = {}

    def make_root(candidate: Candidate, root: Path, attempt: str) -> None:
        made(candidate, root, attempt)
        files.clear()
        files.update(_as_attempt(_files(root), applied.run.identity, attempt, FIRST))

    def review(_terraform: Terraform, plan: TerraformPlan) -> None:
        _require_plan(applied.run, files, plan, {"plan_digest": plan_digest, "terraform_digest": None})

    order = replace(applied.order, make_root=make_root, review=review, ceiling_hour_usd=ceiling)
    return replace(applied, order=order)


def _run(context: Context, folder: PlanFolder) -> tuple[RunContext, bool]:
    """The run of the plan, with a lease from now on, or as an earlier apply of the same plan began it."""
    identity = build(RigIdentity, folder.document("identity.json"))
    known = [r for r in context.journal.rigs(all_rigs=True) if r.run_id == identity.run_id]
    if known and known[0].clean and context.journal.attempts(identity.run_id):
        raise _stale(f"this plan was applied before, as run {identity.run_id}, and that rig is gone")
    environment = build(Environment, folder.document("environment.json"))
    lease = int(folder.manifest["rig"]["lease_seconds"])
    identity = known[0].identity if known else replace(identity, expires_at=lease_end(context.now(), lease))
    run = RunContext(
        identity=identity,
        job=_job(folder),
        environment=environment,
        placement=placement_json.from_document(folder.document("placement.json")),
        observe=context.observe,
    )
    return run, bool(known)


def _job(folder: PlanFolder) -> Job:
    """The job as it was reviewed; where its file is here too, with the paths of this machine."""
    job = build(Job, folder.document("job.json"))
    found = _current(job, folder.manifest)
    if found is not None:
        return replace(found, image=job.image)
    withheld = folder.manifest["job"]["withheld"]
    if withheld:
        raise _stale(f"{', '.join(withheld)} of the job are no part of a plan: apply it where {job.source} is")
    return job


def _current(job: Job, manifest: Mapping[str, Any]) -> Job | None:
    """The job as its file has it now; None: the file is not here."""
    if not job.source or not Path(job.source).is_file():
        return None
    said = manifest["job"]
    flags = build(JobFlags, said["flags"])
    jobs, _ = load_job(Path(job.source), _environment_file(manifest), said["overrides"], flags)
    return next((one for one in jobs if one.name == job.name), jobs[0])


def _environment_file(manifest: Mapping[str, Any]) -> str | None:
    file = manifest["environment"]["file"]
    return str(file) if file and Path(file).is_file() else None


def _require_same_inputs(job: Job, manifest: Mapping[str, Any]) -> None:
    """Job, lock and environment as they are now, where they can be seen from here."""
    try:
        current = _current(job, manifest)
        if current is None:
            return
        lock = lockfile.text(pins.load_lock(current))
        file = _environment_file(manifest)
        environment = only(find_environment(file), manifest["job"]["cloud"]) if file else None
    except RigError as error:
        raise _stale(f"what the plan was made from cannot be read any more: {error.message}") from error
    if current.digest != manifest["job_digest"]:
        raise _stale(f"{job.source} has changed since the plan")
    if digest_of(lock) != manifest["lock_digest"]:
        raise _stale("the lock has changed since the plan")
    if environment is not None and environment_digest(environment) != manifest["environment_digest"]:
        raise _stale(f"{file} has changed since the plan")


def _affordable(run: RunContext, ceiling: Decimal, context: Context) -> Quote:
    """Today's prices. Raises PlanStale when no candidate is within what was approved."""
    candidates = run.placement.candidates
    quote = quotes(context, candidates, run.environment)
    cheapest = min((quote(c.offer) or Decimal(0)) * c.nodes for c in candidates)
    if cheapest > ceiling:
        raise _stale(
            f"the cheapest of {len(candidates)} candidates is {dollars(cheapest)} an hour now,"
            f" {dollars(ceiling)} were approved"
        )
    return quote


def _reviewed_root(folder: PlanFolder, run: RunContext, root: Path, attempt: str) -> dict[str, str]:
    """Writes the reviewed root with the values of this machine; returns it as that of the first attempt."""
    cloud = run.placement.candidates[0].offer.cloud
    then = build(LateBound, folder.manifest["late_bound"]["values"])
    now = LateBound.of(
        run.identity,
        public_key=ssh.make_key(run.rig.path),
        cidrs=ssh_ingress(run.environment, cloud) if then.cidrs else (),
    )
    files = dict(folder.root)
    files[TFVARS] = tfvars_for(files[TFVARS], then, now)
    workdir.write_tree(root, _as_attempt(files, run.identity, FIRST, attempt))
    if registry.has(cloud, "provider"):
        registry.provider(cloud).lay_plugin(root)
    return files


def _require_state(terraform: Terraform, planned: int) -> None:
    serial = terraform_state.serial(terraform.state_pull())
    if serial != planned:
        raise _stale(f"the state has moved: serial {serial} now, {planned} when planned")


def _require_plan(
    run: RunContext, files: dict[str, str], plan: TerraformPlan, reviewed: Mapping[str, str | None]
) -> None:
    """The plan means what was reviewed; where a provider was asked then, down to each value."""
    resources, late = plan_resources.resources(plan), _late(files, run.identity, run.environment)
    found = {"plan_digest": digest(run.job, run.environment, run.placement.candidates, files, resources, late)}
    if reviewed["terraform_digest"]:
        found["terraform_digest"] = terraform_digest(resources, late)
    for name, now in found.items():
        if reviewed[name] != now:
            raise _stale("what Terraform plans now is not what was reviewed", reviewed=str(reviewed[name]), now=now)


def _late(files: Mapping[str, str], identity: RigIdentity, environment: Environment) -> LateBound:
    values = json.loads(files[TFVARS])
    cidrs = () if environment.ssh_ingress else values["ssh_ingress_cidrs"]
    return LateBound.of(identity, public_key=values["ssh_public_key"], cidrs=cidrs)


def _files(root: Path) -> dict[str, str]:
    """The rendered files of a root, without what Terraform and the local cloud lay beside them."""
    found = [p for p in (*root.glob("*"), *root.glob("module/**/*")) if p.is_file()]
    return {
        p.relative_to(root).as_posix(): p.read_text(encoding="utf-8")
        for p in found
        if p.suffix in {".tf", ".json"} or p.name == ".terraform.lock.hcl"
    }


def _as_attempt(files: dict[str, str], identity: RigIdentity, old: str, new: str) -> dict[str, str]:
    """The same root with the state of another attempt: each has its own."""
    if BACKEND in files:
        files = {**files, BACKEND: files[BACKEND].replace(_key(identity, old), _key(identity, new))}
    return files


def _key(identity: RigIdentity, attempt: str) -> str:
    return f"{identity.resource_prefix}/{attempt}"


def _stale(why: str, **details: str) -> PlanStale:
    return PlanStale(why, hint="plan again, and have it reviewed again", details=details)
