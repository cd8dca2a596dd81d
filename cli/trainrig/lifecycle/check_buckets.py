"""Whether the buckets that an environment names can be used from here: for checkpoints, and for Terraform's state."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.errors import RigError
from trainrig.model.environment import Environment
from trainrig.model.readiness import Check
from trainrig.render.store import Bucket, buckets_of

_FILE = "file://"


def bucket_checks(environment: Environment, wanted: Sequence[Account]) -> Iterator[Callable[[], Iterable[Check]]]:
    """A question for each bucket. Those in other clouds than `wanted` are left out where `wanted` is a choice."""
    if (environment.checkpoint_store or "").startswith(_FILE):
        yield partial(_folder, Path((environment.checkpoint_store or "").removeprefix(_FILE)))
    chosen = {a.cloud for a in wanted}
    narrowed = chosen < {p.cloud for p in environment.clouds}
    for bucket in buckets_of(environment):
        if bucket.cloud in chosen or not narrowed:
            yield partial(_bucket, bucket, environment)


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
