"""Whether buckets of an environment and its jobs can be used from here: for checkpoints and for Terraform's state."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.errors import RigError
from trainrig.lifecycle.checkpoint_stores import store_of, url_of
from trainrig.model.environment import Environment
from trainrig.model.job import Job
from trainrig.model.readiness import Check
from trainrig.model.rig import new_run_id
from trainrig.model.store_url import place_of
from trainrig.render.store import Bucket, buckets_of

_FILE = "file://"
_MEND = "is the bucket there (trainrig store apply), and may these credentials read, write, list and delete in it?"


Ask = Callable[[], Iterable[Check]]


def bucket_checks(environment: Environment, wanted: Sequence[Account]) -> Iterator[Ask]:
    """A question for each bucket of an environment, which changes nothing. Those in other clouds than `wanted` are left
    out where `wanted` is a choice."""
    if (environment.checkpoint_store or "").startswith(_FILE):
        yield partial(_folder, Path((environment.checkpoint_store or "").removeprefix(_FILE)))
    chosen = {a.cloud for a in wanted}
    narrowed = chosen < {p.cloud for p in environment.clouds}
    for bucket in buckets_of(environment):
        if bucket.cloud in chosen or not narrowed:
            yield partial(_bucket, bucket, environment)


def job_checks(jobs: Sequence[Job], environment: Environment) -> Iterator[Ask]:
    """A question for each place where the jobs' checkpoints go, asked by doing it: of Azure, of another server that
    speaks S3 and of policies on a bucket nobody else knows the answer."""
    yield from (partial(_bucket, b, environment) for b in buckets_of(environment) if b.purposes != ("checkpoints",))
    places = {(url_of(job, environment), job.s3_endpoint): job for job in jobs}
    yield from (partial(_store, job, environment) for job in places.values())


def _store(job: Job, environment: Environment) -> Iterator[Check]:
    url = url_of(job, environment)
    if url is None:
        detail = "in the rig's folder on this machine: no store is named"
        yield Check(name="checkpoints", status="skip", detail=detail, mend="checkpoint_store of the environment")
        return
    place = place_of(url)
    if isinstance(place, Path) and not place.exists():
        yield from _folder(place)
        return
    where = f"{url} at {job.s3_endpoint}" if job.s3_endpoint and url.startswith("s3://") else url
    with TemporaryDirectory() as folder:
        try:
            store_of(job, environment, f"check-{new_run_id()}", Path(folder)).probe()
        except RigError as error:
            yield Check(name=f"checkpoints: {where}", status="fail", detail=error.message, mend=error.hint or _MEND)
        else:
            detail = "write, replace, read, list and delete were tried"
            yield Check(name=f"checkpoints: {where}", status="pass", detail=detail)


def _bucket(bucket: Bucket, environment: Environment) -> Iterator[Check]:
    name = f"{' and '.join(bucket.purposes)}: {bucket.url}"
    if not registry.has(bucket.cloud, "store"):
        yield Check(name=name, status="skip", detail="trainrig cannot look into buckets of this cloud yet")
        return
    policy = environment.policy(bucket.cloud)
    account = Account(
        cloud=bucket.cloud,
        regions=policy.regions if policy else (),
        settings=dict(policy.account) if policy else {},
    )
    try:
        found = registry.store(bucket.cloud).access(
            account, bucket.holder, bucket.name, region=bucket.region, endpoint=bucket.endpoint
        )
    except RigError as error:
        mend = f"{error.hint} --env {environment.name}" if error.hint == "trainrig store apply" else error.hint
        yield Check(name=name, status="fail", detail=error.message, mend=mend)
    else:
        yield Check(name=name, status="pass", detail=found)


def _folder(path: Path) -> Iterator[Check]:
    """A folder of this machine is made when it is needed: what is there of its path must be writable."""
    there = next(p for p in (path, *path.parents) if p.exists())
    fine = there.is_dir() and os.access(there, os.W_OK)
    detail = "read and write" if fine else f"{there} cannot be written"
    mend = "" if fine else f"make {path}, writable for you, or set another checkpoint_store"
    yield Check(name=f"checkpoints: {_FILE}{path}", status="pass" if fine else "fail", detail=detail, mend=mend)
