from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from support import rigs
from trainrig.model.environment import Environment
from trainrig.model.job import Job, ResourceOption
from trainrig.model.rig import RigIdentity
from trainrig.render.identity import identity_of

JOB = Job(name="finetune", options=(ResourceOption(labels={"team": "ml"}),), digest="sha256:aa", lease_seconds=5400)
ENV = Environment(name="team", clouds=(), labels={"team": "x", "cost": "7"})


def make(minutes: int = 0, job: Job = JOB) -> RigIdentity:
    return identity_of(job, ENV, owner="ada", now=rigs.NOW + timedelta(minutes=minutes), run_id=None)


def test_the_same_job_in_the_same_hour_is_the_same_rig() -> None:
    assert make(minutes=1) == make(minutes=29)
    assert make(minutes=1).expires_at == rigs.NOW + timedelta(hours=2)
    assert make().expires_at == rigs.NOW + timedelta(hours=2)


def test_another_job_is_another_rig() -> None:
    assert make().run_id != make(job=replace(JOB, digest="sha256:bb")).run_id
    assert len(make().resource_prefix) <= 30


def test_a_jobs_label_comes_before_the_environments() -> None:
    assert make().labels == {"team": "ml", "cost": "7"}
