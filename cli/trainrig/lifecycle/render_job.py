"""Renders a job into a folder for people and plain `terraform`, without a rig behind it."""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from trainrig import settings
from trainrig.clouds import registry
from trainrig.errors import Unplaceable, UsageError
from trainrig.lifecycle import node_rights, pins, rig_request
from trainrig.lifecycle.place import place
from trainrig.lifecycle.render_rig import render_rig
from trainrig.model.clock import utc_now
from trainrig.model.environment import Environment
from trainrig.model.job import Job
from trainrig.model.placement import Candidate
from trainrig.model.rig import RigIdentity
from trainrig.render.identity import identity_of
from trainrig.render.lockfile import Lock
from trainrig.render.request import RigRequest
from trainrig.store.workdir import RigDir
from trainrig.tools import ssh


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderedJob:
    request: RigRequest
    paths: tuple[str, ...]
    notes: tuple[str, ...]  # what the reader should know


def render_job(
    job: Job,
    environment: Environment,
    out: Path,
    *,
    cloud: str | None = None,
    run_id: str | None = None,
    ssh_public_key: str | None = None,
    ingress: tuple[str, ...] = (),
) -> RenderedJob:
    """Renders the best candidate, or the best one of `cloud`, into `out`.

    Raises:
        Unplaceable: no candidate, or none of that cloud.
        SpecInvalid: the container moves and is not locked.
        UsageError: `out` holds the state of another rig.
    """
    now = _now()
    lock = pins.load_lock(job)
    job = pins.pinned(job, lock)
    candidate = _candidate(job, environment, cloud, now)
    identity = identity_of(job, environment, owner=environment.owner or getpass.getuser(), now=now, run_id=run_id)
    _refuse_other_state(out, identity)
    request = rig_request.rig_request(
        job,
        environment,
        candidate,
        identity=identity,
        ssh_public_key=ssh_public_key or ssh.make_key(RigDir.of(settings.home(), identity).path),
        ssh_ingress_cidrs=ingress,
        lock=lock,
    )
    files = render_rig(request, job=job, environment=environment, out=out)
    return RenderedJob(request=request, paths=tuple(files), notes=_notes(job, request, lock))


def _now() -> datetime:
    """SOURCE_DATE_EPOCH, as reproducible builds set it, else the clock."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(epoch), UTC) if epoch else utc_now()


def _candidate(job: Job, environment: Environment, cloud: str | None, now: datetime) -> Candidate:
    placement = place(job, environment, now=now)
    fitting = [c for c in placement.candidates if cloud in {None, c.offer.cloud}]
    if not fitting:
        raise Unplaceable(
            f"no offer{f' of {cloud}' if cloud else ''} fits {job.name}",
            hint="trainrig explain shows why each offer was rejected",
        )
    return fitting[0]


def _refuse_other_state(out: Path, identity: RigIdentity) -> None:
    """A folder with a state belongs to the rig whose names are in it."""
    state = out / "terraform.tfstate"
    if state.exists() and identity.resource_prefix not in state.read_text(encoding="utf-8"):
        raise UsageError(
            f"{out} holds the Terraform state of another rig",
            hint="terraform destroy there first, or render into another folder",
        )


def _notes(job: Job, request: RigRequest, lock: Lock) -> tuple[str, ...]:
    notes = list(pins.notes(job))
    offer = request.candidate.offer
    if gap := node_rights.gap_of(request):
        notes.append(gap)
    if not registry.has(offer.cloud, "built_images"):
        notes += rig_request.image_choice(job, offer, lock).notes
        if not request.ssh_ingress_cidrs:
            notes.append("nobody can reach SSH: give --ingress YOUR_ADDRESS/32, or ssh_ingress in the environment")
    return tuple(notes)
