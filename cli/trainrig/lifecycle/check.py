"""Is this machine ready: its tools, and each cloud's credentials, permissions and quotas. Ends in bounded time."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.errors import RigError, UsageError
from trainrig.model.environment import Environment
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
        found = [Account(cloud=p.cloud, regions=p.regions, settings=dict(p.account)) for p in environment.clouds]
    known = [a.cloud for a in found]
    for name in clouds:
        if name not in known:
            raise UsageError(f"--cloud {name}: no such cloud here", hint=f"one of: {', '.join(known)}")
    return [a for a in found if not clouds or a.cloud in clouds]


def check(wanted: Sequence[Account], *, patience_seconds: float = PATIENCE_SECONDS) -> Readiness:
    """Clouds are asked in threads that nobody waits for longer than `patience_seconds`: an SDK that hangs on a dead
    network holds up neither the others nor us."""
    lines: dict[str, list[Check]] = {account.cloud: [] for account in wanted}
    threads = [
        threading.Thread(target=_ask, args=(account, lines[account.cloud]), daemon=True, name=account.cloud)
        for account in wanted
    ]
    until = time.monotonic() + patience_seconds
    for thread in threads:
        thread.start()
    tools = tuple(present.checks())
    clouds = []
    for account, thread in zip(wanted, threads, strict=True):
        thread.join(max(until - time.monotonic(), 0))
        seen = tuple(lines[account.cloud])
        if thread.is_alive():
            late = f"no answer within {patience_seconds:g} s: is there a network?"
            seen = (*seen, Check(name="network", status="fail", detail=late, mend="check the network and any proxy"))
        clouds.append(CloudChecks(cloud=account.cloud, title=registry.facts(account.cloud).title, checks=seen))
    return Readiness(tools=tools, clouds=tuple(clouds))


def _ask(account: Account, seen: list[Check]) -> None:
    if not registry.has(account.cloud, "checks"):
        seen.append(Check(name="check", status="fail", detail="trainrig has no checks for this cloud yet"))
        return
    try:
        for line in registry.checks(account.cloud).checks(account):
            seen.append(line)  # noqa: PERF402 - each line is there when it is known, also when the next one hangs
    except RigError as error:
        seen.append(Check(name="sdk", status="fail", detail=error.message, mend=error.hint))
    except Exception as error:  # noqa: BLE001 - a thread's exception would be lost, and the cloud would look enabled
        seen.append(Check(name="check", status="fail", detail=f"internal error: {type(error).__name__}: {error}"))
