"""Freezes what a reviewer approves: placement, root, lock and Terraform plan, without creating anything."""

from __future__ import annotations

import getpass
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trainrig.clouds import registry
from trainrig.errors import UsageError
from trainrig.lifecycle import pins, plan_resources
from trainrig.lifecycle.caller import ssh_ingress
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.node_rights import gap_of
from trainrig.lifecycle.plan_again import standing
from trainrig.lifecycle.render_rig import files_of
from trainrig.lifecycle.rig_request import image_choice, rig_request
from trainrig.lifecycle.run import placed
from trainrig.model.environment import Environment
from trainrig.model.job import Job
from trainrig.model.placement import Candidate
from trainrig.model.plan import Finding, Plan, PlannedResource
from trainrig.model.rig import RigIdentity, digest_of, new_run_id
from trainrig.render import late_bound, policy
from trainrig.render.findings import findings
from trainrig.render.identity import identity_of
from trainrig.render.late_bound import LateBound
from trainrig.render.lockfile import Lock
from trainrig.render.request import RigRequest
from trainrig.render.work import work
from trainrig.store.workdir import RigDir
from trainrig.tools import ssh

PLAN_LIFE = timedelta(hours=24)


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """A plan and all that its folder holds."""

    plan: Plan
    job: Job
    environment: Environment
    lock: Lock
    files: dict[str, str]  # of the Terraform root
    late: LateBound
    serial: int | None  # of the state that was planned against
    terraform: str | None  # version
    made_at: datetime


def plan(
    context: Context,
    job: Job,
    environment: Environment,
    *,
    keep: bool,
    cloud: str | None = None,
    run_id: str | None = None,
    offline: bool = False,
    binary: Path | None = None,
) -> Planned:
    """A rig of the job that is up is compared with its own root. `keep`: the plan will be applied, so the rig's key
    stays on this machine. `binary`: where Terraform's own plan file goes.

    Raises:
        Unplaceable: no offer will do.
        TerraformFailed, UnsafePlan: see lifecycle/plan_resources.py.
        UsageError: the environment has no such cloud.
    """
    environment = only(environment, cloud)
    lock = pins.load_lock(job)
    job = pins.pinned(job, lock, context.observe)
    now = context.now()
    up = None if offline else standing(context, job)
    placement = up.placement if up else placed(job, environment)
    candidate = placement.candidates[0]
    owner = environment.owner or getpass.getuser()
    identity = up.identity if up else identity_of(job, environment, owner=owner, now=now, run_id=run_id or new_run_id())
    unknown: list[str] = []
    request = rig_request(
        job,
        environment,
        candidate,
        identity=identity,
        ssh_public_key=_key(context, identity, keep=keep or up is not None),
        ssh_ingress_cidrs=_ingress(environment, candidate.offer.cloud, unknown, offline=offline),
        lock=lock,
    )
    files = files_of(request, job=job, environment=environment)
    late = late_of(request, environment)
    if up:
        made = up.planned
    elif offline and not plan_resources.possible_offline(candidate.offer.cloud):
        made = plan_resources.work_out(files, candidate.offer.cloud)
    else:
        made = plan_resources.ask(context, files, candidate.offer.cloud, keep=binary)
    needs_lock = job.image is not None or not registry.has(candidate.offer.cloud, "built_images")
    expected = policy.Expected(labels=identity.all_labels(), lease_seconds=request.lease_seconds)
    rules, broken = policy.check(made.resources, expected)
    if offline:
        unknown.append("quota and prices of this hour: the catalogue's serve")
    return Planned(
        plan=Plan(
            identity=identity,
            placement=placement,
            offline=offline,
            digest=digest(job, environment, placement.candidates, files, made.resources, late),
            terraform_digest=terraform_digest(made.resources, late) if made.plan else None,
            expires_at=now + PLAN_LIFE,
            resources=plan_resources.without_secrets(made.resources),
            findings=(
                *broken,
                *([Finding(code="image_right", detail=gap)] if (gap := gap_of(request)) else ()),
                *findings(
                    request,
                    job.env,
                    locked=pins.lock_path(job).is_file() or not needs_lock,
                    notes=[*pins.notes(job), *_image_notes(job, candidate, lock)],
                ),
            ),
            unknown=(*unknown, *made.unknown),
            pins=_pins(request, job, lock),
            lease_seconds=request.lease_seconds,
            work=work(job, request),
            policy=rules,
        ),
        job=job,
        environment=environment,
        lock=lock,
        files=files,
        late=late,
        serial=made.serial,
        terraform=made.version,
        made_at=now,
    )


def only(environment: Environment, cloud: str | None) -> Environment:
    """The environment with one of its clouds alone. Raises UsageError when it is none of them."""
    if cloud is None:
        return environment
    clouds = tuple(p for p in environment.clouds if p.cloud == cloud)
    if not clouds:
        raise UsageError(
            f"{environment.name} has no cloud {cloud!r}",
            hint=f"it has: {', '.join(environment.cloud_names)}",
        )
    return replace(environment, clouds=clouds)


def late_of(request: RigRequest, environment: Environment) -> LateBound:
    return LateBound.of(
        request.identity,
        public_key=request.ssh_public_key,
        cidrs=() if environment.ssh_ingress else request.ssh_ingress_cidrs,
    )


def digest(
    job: Job,
    environment: Environment,
    candidates: Sequence[Candidate],
    files: dict[str, str],
    resources: Sequence[PlannedResource],
    late: LateBound,
) -> str:
    """Of what is approved: the job, the root, the candidates in order without their prices, and what is made."""
    blank = late_bound.placeholders(late)
    meaning: list[Any] = [
        job.digest,
        environment.name,
        late_bound.meaning_of(files, late),
        [_place(c) for c in candidates],
        late_bound.rebind(sorted([r.address, r.type, list(r.actions)] for r in resources), late, blank),
    ]
    return digest_of(json.dumps(meaning, sort_keys=True))


def _place(c: Candidate) -> list[Any]:
    place = [c.offer.cloud, c.offer.region, c.offer.zone, c.offer.instance_type, c.offer.market.value, c.nodes]
    return [*place, c.account] if c.account else place


def terraform_digest(resources: Sequence[PlannedResource], late: LateBound) -> str:
    """Of every value that Terraform planned, but those that another machine fills in."""
    blank = late_bound.placeholders(late)
    meaning = [[r.address, r.type, list(r.actions), r.values] for r in resources]
    return digest_of(json.dumps(late_bound.rebind(meaning, late, blank), sort_keys=True))


def _key(context: Context, identity: RigIdentity, *, keep: bool) -> str:
    if keep:
        return ssh.make_key(RigDir.of(context.home, identity).path)
    with TemporaryDirectory() as folder:
        return ssh.make_key(Path(folder) / RigDir.of(context.home, identity).path.name)


def _ingress(environment: Environment, cloud: str, unknown: list[str], *, offline: bool) -> tuple[str, ...]:
    if environment.ssh_ingress or registry.has(cloud, "provider") or not offline:
        return ssh_ingress(environment, cloud)
    unknown.append(
        f"from where SSH will be reached: {late_bound.UNKNOWN_ADDRESS} stands for the address of who applies"
    )
    return (late_bound.UNKNOWN_ADDRESS,)


def _image_notes(job: Job, candidate: Candidate, lock: Lock) -> tuple[str, ...]:
    if registry.has(candidate.offer.cloud, "built_images"):
        return ()
    return image_choice(job, candidate.offer, lock).notes


def _pins(request: RigRequest, job: Job, lock: Lock) -> dict[str, str]:
    image = request.image
    address = registry.facts(request.candidate.offer.cloud).terraform_provider
    found = {
        "machine image": image.id if image.id == image.name else f"{image.name} ({image.id})",
        "driver": image.driver,
        "cuda": image.cuda,
        "container": job.image,
        f"provider {address}": lock.providers[address].version if address in lock.providers else None,
    }
    return {name: value for name, value in found.items() if value}
