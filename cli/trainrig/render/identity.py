"""Who a rig is that is rendered to be read: the same job, on the same day, gives the same names."""

from __future__ import annotations

import hashlib
import json
from base64 import b32encode
from datetime import datetime, timedelta

from trainrig.model.environment import Environment
from trainrig.model.job import Job
from trainrig.model.rig import RigIdentity


def identity_of(job: Job, environment: Environment, *, owner: str, now: datetime, run_id: str | None) -> RigIdentity:
    """The lease is rounded up to the full hour, so that rendering again gives the same bytes.

    Without `run_id` it is made of the job itself: two renders of one job name the same resources, and the second of two
    applies is refused by the cloud. `run` and `apply` take a new one each time.
    """
    return RigIdentity(
        name=job.name,
        run_id=run_id or stable_run_id(job, environment, owner),
        owner=owner,
        project=environment.project,
        environment=environment.name,
        expires_at=lease_end(now, lease_seconds(job, environment)),
        labels={**environment.labels, **{k: v for option in job.options for k, v in option.labels.items()}},
    )


def lease_seconds(job: Job, environment: Environment) -> int:
    return min(job.lease_seconds or environment.lease_seconds, environment.max_lease_seconds)


def lease_end(now: datetime, seconds: int) -> datetime:
    """The full hour at or after the end of a lease that begins now."""
    ends = now + timedelta(seconds=seconds)
    hour = ends.replace(minute=0, second=0, microsecond=0)
    return hour if hour == ends else hour + timedelta(hours=1)


def stable_run_id(job: Job, environment: Environment, owner: str) -> str:
    """Eight characters, as model.rig.new_run_id makes them at random."""
    meaning = json.dumps([environment.project, environment.name, owner, job.name, job.digest])
    return b32encode(hashlib.sha256(meaning.encode()).digest()).decode().lower()[:8]
