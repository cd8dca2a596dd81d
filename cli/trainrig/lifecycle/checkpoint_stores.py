"""Opens the store that keeps a run's checkpoints: the rig's own folder, another directory, or a bucket."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TypeVar

from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.errors import Interrupted, StoreFailed
from trainrig.model.environment import Environment
from trainrig.model.events import Observer, Progress
from trainrig.model.job import Job
from trainrig.model.store_url import place_of
from trainrig.recovery.stores import CheckpointStore
from trainrig.store.checkpoint_bucket import CheckpointBucket
from trainrig.store.checkpoint_dir import CheckpointDir

PATIENCE_SECONDS = 600  # with a store that does not answer while a rig waits for its checkpoint
PAUSE_SECONDS = 5.0
FOLDER = "checkpoints"  # below the run's own prefix, which its nodes may write to as well

T = TypeVar("T")


def url_of(job: Job, environment: Environment) -> str | None:
    """The job's own store, else the environment's; None: the folder of the rig."""
    return (job.checkpoints.store if job.checkpoints else None) or environment.checkpoint_store


def store_of(job: Job, environment: Environment, run_id: str, folder: Path) -> CheckpointStore:
    """The checkpoints of a run. `folder` is the rig's: without a store they lie there, else what was fetched does.

    Raises:
        NotBuilt: the bucket's cloud has no such thing, or its SDK is not installed.
        EnvironmentInvalid: the URL is no store's.
    """
    url = url_of(job, environment)
    if url is None:
        return CheckpointDir(folder / "checkpoints")
    place = place_of(url)
    if isinstance(place, Path):
        return CheckpointDir(place / run_id)
    policy = environment.policy(place.cloud)
    settings = dict(policy.account) if policy else {}
    if job.s3_endpoint:
        settings["s3_endpoint"] = job.s3_endpoint
    account = Account(cloud=place.cloud, regions=policy.regions if policy else (), settings=settings)
    objects = registry.objects(place.cloud).objects(account, place.holder, place.bucket)
    return CheckpointBucket(objects, url, place.below(f"{run_id}/{FOLDER}"), run_id, folder / "fetched")


def files_url(job: Job, environment: Environment, run_id: str) -> str:
    """Where the bucket of a run has its files, each under its sha256, for nodes that bring them themselves."""
    scheme, _, place = (url_of(job, environment) or "").partition("://")
    below = [*(part for part in place.split("/") if part), run_id, FOLDER, "files"]
    return f"{scheme}://{'/'.join(below)}"


def patiently(
    ask: Callable[[], T],
    stop: Event,
    observe: Observer,
    *,
    go_on: Callable[[], None] = lambda: None,
    seconds: float = PATIENCE_SECONDS,
) -> T:
    """Asks a store again and again while it does not answer: a rig that is up should not be lost to a short outage.

    Args:
        go_on: called before each pause; what it raises ends the wait.

    Raises:
        StoreFailed: it still does not.
        Interrupted: somebody wants the run to end.
    """
    ends = time.monotonic() + seconds
    told = False
    while True:
        try:
            return ask()
        except StoreFailed as error:
            if time.monotonic() >= ends:
                raise
            if not told:
                observe(Progress(phase="deliver", message=f"{error.message}; trying again for {seconds:.0f} s"))
                told = True
        go_on()
        if stop.wait(PAUSE_SECONDS):
            raise Interrupted("stopped while the checkpoint store did not answer")
