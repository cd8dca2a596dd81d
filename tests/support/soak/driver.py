"""`python -m support.soak.driver begin|queue|WORDS`: trainrig on the stub cloud, with all of its own code but for SSH.

Terraform, journal, ledger, workflow, watcher, guards, copies' commits and fences are real; a node is played, see
played_nodes.py, and a kill may come in any call that writes something down.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from support import jobs, stub_rigs
from support.soak import played_nodes, played_store
from support.soak.settings import NAME, PRICE_HOUR, Play, note
from support.stub_cloud import objects
from trainrig import app, errors
from trainrig.lifecycle import (
    apply,
    checkpoint_stores,
    checkpoint_sync,
    collect,
    configure,
    deliver,
    host_keys,
    job_control,
    next_rig,
    reap,
    rig_request,
    run,
    run_context,
    run_launch,
    run_next,
    run_rig,
    run_watch,
    teardown,
    verify,
    waiting,
    watch,
)
from trainrig.model.events import Event, Progress
from trainrig.model.job import Checkpoints, Guard, Guards, Notify, Recovery, ResourceOption
from trainrig.model.placement import CatalogStamp, Placement
from trainrig.store import ledger
from trainrig.store.journal import Journal
from trainrig.tools import container, ssh

PACES: tuple[tuple[Any, str, Any], ...] = (
    (waiting, "FIRST_SECONDS", 0.5),
    (waiting, "LONGEST_SECONDS", 1.0),
    (waiting, "LOOK_SECONDS", 0.2),
    (apply, "EVENTUAL_WAIT_SECONDS", (0.2, 0.5)),
    (teardown, "RETRY_SECONDS", (0.0, 0.2, 0.5, 1.0)),
    (teardown, "BEFORE_LOCK_SECONDS", 0.5),
    (reap, "DELETE_WAIT_SECONDS", 0.1),
    (watch, "LIMITS_EVERY_SECONDS", 0.3),
    (checkpoint_sync, "PAUSE_SECONDS", 0.3),
    (checkpoint_stores, "PAUSE_SECONDS", 0.2),
    (job_control, "LAST_PAUSE_SECONDS", 0.3),
    (job_control, "SILENT_SECONDS", 0.3),
    (job_control, "PEERS_SECONDS", 0.5),
)
# Where a process may kill itself, before and after.
POINTS: tuple[tuple[Any, str], ...] = (
    *((Journal, n) for n in ("set_state", "append", "update_attempt", "start_attempt", "update_details")),
    (ledger, "begin"),
    (ledger, "end"),
    *((played_store.WatchedStore, n) for n in ("fence", "commit", "prune")),
    *((job_control, n) for n in ("start", "stop")),
    *((run_rig, n) for n in ("bring_up", "release_rig", "collect_results", "tear_down")),
    (run_launch, "launch"),
    (run_watch, "watch_job"),
    *((run_next, n) for n in ("next_step", "tell_end")),
    *((objects, n) for n in ("create", "delete")),
)


def may_die(owner: Any, name: str, chance: random.Random, share: float) -> None:
    real: Callable[..., Any] = getattr(owner, name)

    def hurt(when: str) -> None:
        if chance.random() < share:
            note("suicide", point=f"{name}:{when}")
            os.kill(os.getpid(), signal.SIGKILL)

    def with_points(*words: Any, **more: Any) -> Any:
        hurt("before")
        result = real(*words, **more)
        hurt("after")
        return result

    setattr(owner, name, with_points)


class NoImage:
    def __init__(self, *_: object) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def begin(self, *_: object) -> None: ...


def order_of(_context: Any, _job: Any, _environment: Any, candidates: Any, **more: Any) -> Any:
    return stub_rigs.order(candidates, identity=more["identity"], generation=more["generation"])


def configured(rig: Path, _job: Any, _offer: Any, nodes: Any, *_: Any, **__: Any) -> played_nodes.PlayedSsh:
    ssh = played_nodes.connect(rig, nodes)
    silent = [n.name for n in ssh.nodes if not played_nodes.lives(n)]
    if silent:
        raise errors.ConfigureFailed("no answer", details={"unreachable": silent})
    return ssh


def install() -> None:
    played: tuple[tuple[Any, str, Any], ...] = (
        (ssh, "connect", played_nodes.connect),
        (configure, "configure", configured),
        (host_keys, "learn", lambda _context, attempt, **_: attempt),
        (deliver, "deliver", lambda *_: None),
        (verify, "accept", lambda *_, **__: None),
        (verify, "require", lambda _: None),
        (container, "Ahead", NoImage),
        (run_launch, "driver_of", lambda *_: None),
        (rig_request, "fabric_of", lambda *_: None),
        (job_control, "start", played_nodes.start),
        *((collect, n, getattr(played_nodes, n)) for n in ("restore_checkpoints", "collect_checkpoints", "save_times")),
        (collect, "collect_outputs", played_nodes.collect_outputs),
        (run_context, "store_of", played_store.store_of),
        (run_rig, "order_of", order_of),
        (next_rig, "order_of", order_of),
    )
    for owner, name, what in (*PACES, *played):
        setattr(owner, name, what)
    share = Play.of_this_cloud().kill_share
    if share and os.environ.get("MAY_DIE"):
        chance = random.Random(os.environ["MAY_DIE"])
        for owner, name in POINTS:
            may_die(owner, name, chance, share)


def job(limits: dict[str, Any]) -> Any:
    silence = limits.pop("silence", None)
    if "deadline" in limits:
        limits["deadline"] = datetime.fromisoformat(limits["deadline"])
    if "budget_usd" in limits:
        limits["budget_usd"] = Decimal(limits["budget_usd"])
    restarts = limits.pop("restarts", 0)
    return jobs.a_job(
        name=NAME,
        image="train:1",
        options=(ResourceOption(cloud="stub"),),
        checkpoints=Checkpoints(path="/checkpoints", save_signal="SIGUSR1"),
        recovery=Recovery(max_restarts_on_errors=restarts),
        guards=Guards(silence=Guard(limit=silence, do=limits.pop("do")) if silence else None),
        notify=Notify(webhook="env:HOOK") if "HOOK" in os.environ else None,
        **limits,
    )


def say(event: Event) -> None:
    if isinstance(event, Progress):
        print(f"{event.phase}: {event.message}", file=sys.stderr, flush=True)


def begin(*, queued: bool) -> int:
    first, second = (stub_rigs.candidate(zone, price=PRICE_HOUR) for zone in ("z-a", "z-b"))
    placement = Placement(
        job=NAME,
        catalog=CatalogStamp(digest="d", captured_at=None, age_hours=None, offers=2),
        chosen=first,
        fallbacks=(second,),
        rejections=(),
    )
    wanted = job(json.loads(os.environ.get("LIMITS", "{}")))
    try:
        with run.begun(wanted, stub_rigs.ENVIRONMENT, placement, say) as begun:
            if queued:
                run.enqueue(begun)
                return 0
            result = run.carry_out(begun)
    except errors.RigError as error:
        print(f"{error.code}: {error.message}", file=sys.stderr)
        return error.exit_code
    print(json.dumps(dict(result.document)))
    return result.error.exit_code if result.error else 0


if __name__ == "__main__":
    install()
    if sys.argv[1] in {"begin", "queue"}:
        sys.exit(begin(queued=sys.argv[1] == "queue"))
    sys.exit(app.run(sys.argv[1:]))
