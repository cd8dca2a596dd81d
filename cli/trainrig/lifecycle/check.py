"""Is this machine ready: its tools, and each cloud's credentials, permissions and quotas. Ends in bounded time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.errors import RigError, UsageError
from trainrig.lifecycle.check_buckets import bucket_checks, job_checks
from trainrig.lifecycle.checkpoint_stores import url_of
from trainrig.lifecycle.node_rights import image_gap, pulled, read_only, written
from trainrig.model.environment import Environment
from trainrig.model.job import Job
from trainrig.model.readiness import Check, CloudChecks, Readiness
from trainrig.tools import present

PATIENCE_SECONDS = 30.0  # for all clouds together, which are asked at once


def accounts(environment: Environment | None, clouds: Sequence[str]) -> list[Account]:
    """What to check: the environment's clouds, else all that trainrig knows; `clouds` narrows.

    Raises:
        UsageError: a cloud of `clouds` is not among them.
    """
    if environment is None:
        found = [Account(cloud=name) for name in registry.names()]
    else:
        found = [
            Account(cloud=p.cloud, name=p.name, regions=p.regions, settings=dict(p.account)) for p in environment.clouds
        ]
    known = dict.fromkeys(a.cloud for a in found)
    for name in clouds:
        if name not in known:
            raise UsageError(f"--cloud {name}: no such cloud here", hint=f"one of: {', '.join(known)}")
    return [a for a in found if not clouds or a.cloud in clouds]


def check(
    wanted: Sequence[Account],
    environment: Environment | None = None,
    jobs: Sequence[Job] = (),
    *,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Readiness:
    """The clouds of `wanted`, and the buckets that the environment names in them or on this machine. With jobs, also
    whether a cloud lets trainrig give their nodes what they need; and their checkpoints are tried by writing.

    Each is asked in a thread that nobody waits for longer than `patience_seconds`: an SDK that hangs on a dead network
    holds up neither the others nor us.
    """
    clouds = [_Asked(partial(_cloud, account, environment, jobs), patience_seconds) for account in wanted]
    asks = () if not environment else job_checks(jobs, environment) if jobs else bucket_checks(environment, wanted)
    buckets = [_Asked(ask, patience_seconds) for ask in asks]
    tools = tuple(present.checks())
    return Readiness(
        tools=tools,
        clouds=tuple(
            CloudChecks(cloud=a.cloud, account=a.name, title=registry.facts(a.cloud).title, checks=asked.answers())
            for a, asked in zip(wanted, clouds, strict=True)
        ),
        buckets=tuple(line for asked in buckets for line in asked.answers()),
    )


class _Asked:
    """Checks that are made in a thread; those that are known count, also when the next one hangs."""

    def __init__(self, ask: Callable[[], Iterable[Check]], patience_seconds: float) -> None:
        self._seen: list[Check] = []
        self._patience_seconds = patience_seconds
        self._until = time.monotonic() + patience_seconds
        self._thread = threading.Thread(target=self._run, args=(ask,), daemon=True)
        self._thread.start()

    def answers(self) -> tuple[Check, ...]:
        self._thread.join(max(self._until - time.monotonic(), 0))
        seen = tuple(self._seen)
        if not self._thread.is_alive():
            return seen
        late = f"no answer within {self._patience_seconds:g} s: is there a network?"
        return (*seen, Check(name="network", status="fail", detail=late, mend="check the network and any proxy"))

    def _run(self, ask: Callable[[], Iterable[Check]]) -> None:
        try:
            for line in ask():
                self._seen.append(line)
        except RigError as error:
            self._seen.append(Check(name="sdk", status="fail", detail=error.message, mend=error.hint))
        except Exception as error:  # noqa: BLE001 - a thread's exception would be lost, and the cloud would look enabled
            detail = f"internal error: {type(error).__name__}: {error}"
            self._seen.append(Check(name="check", status="fail", detail=detail))


def _cloud(account: Account, environment: Environment | None, jobs: Sequence[Job]) -> Iterator[Check]:
    if not registry.has(account.cloud, "checks"):
        yield Check(name="check", status="fail", detail="trainrig has no checks for this cloud yet")
        return
    for line in registry.checks(account.cloud).checks(account):
        yield line
        if line.name == "identity" and line.status == "fail":
            return
    if environment:
        yield from _rights(account, environment, jobs)


def _rights(account: Account, environment: Environment, jobs: Sequence[Job]) -> Iterator[Check]:
    """Of the rights that nodes will need, those that trainrig itself needs a right to grant; without jobs, those on the
    environment's checkpoint store."""
    images = dict.fromkeys(image for job in jobs if (image := pulled(job, account.cloud)))
    for image in images:
        if gap := image_gap(image, account.cloud, account.settings):
            yield Check(name=f"image {image}", status="skip", detail=gap)
    if registry.has(account.cloud, "grants"):
        stores = {url_of(job, environment) for job in jobs} if jobs else {environment.checkpoint_store}
        data = (url for job in jobs for url in (*written(job), *read_only(job)))
        urls = dict.fromkeys((*sorted(filter(None, stores)), *data))
        yield from registry.grants(account.cloud).grants(account, tuple(urls), tuple(images))
