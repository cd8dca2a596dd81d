"""Steps of a run that cost nothing: a machine is a file of the stub cloud, a job is a moment of sleep.

They keep the real journal and ledger, and write each effect down, so that a test can count. They prove the queue, the
workers and the workflow around the steps; they prove nothing about what the real steps do.

`python -m support.cheap_steps WORDS` is the trainrig program with these steps; `foreground NAME` begins a run.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support import jobs, rigs, stub_rigs
from support.stub_cloud import objects
from trainrig.app import run as trainrig
from trainrig.lifecycle import run as run_verbs
from trainrig.lifecycle import run_facts, run_launch, run_rig, run_watch
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.environment import Environment
from trainrig.model.events import silent
from trainrig.model.job import ResourceOption
from trainrig.model.offer import Market
from trainrig.model.placement import CatalogStamp, Placement
from trainrig.model.rig import RigState
from trainrig.store import ledger
from trainrig.store.journal import AttemptState

JOB_SECONDS = float(os.environ.get("CHEAP_JOB_SECONDS", "0.1"))


def effects() -> list[list[str]]:
    """`[what, run id, pid]` of everything that was done, in order."""
    path = objects.root() / "effects"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def effect(what: str, run_id: str) -> None:
    with (objects.root() / "effects").open("a") as file:
        file.write(f"{what} {run_id} {os.getpid()}\n")


@contextlib.contextmanager
def alone(run_id: str, step: str) -> Iterator[None]:
    """Says `overlap` when two processes, or two threads, are in steps of one run."""
    path = objects.root() / f"lock-{run_id}"
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            effect(f"overlap-{step}", run_id)
        yield


def bring_up(run: RunContext, generation: int, _market: Market | None, _to: int | None) -> dict[str, Any]:
    with alone(run.run_id, "bring-up"), run.opened() as context:
        assert run.placement.chosen is not None
        known = [a for a in context.journal.attempts(run.run_id) if a.generation == generation]
        attempt = known[-1] if known else context.journal.start_attempt(run.run_id, generation, run.placement.chosen)
        ledger.begin(context.journal, attempt, context.now())
        labels = run.identity.all_labels()
        if not any(o["labels"] == labels for o in objects.everything()):  # what an apply finds in its state
            objects.create("stub_node", {"name": run.identity.resource_prefix, "labels": labels, "market": "spot"})
            effect("create", run.run_id)
        context.journal.update_attempt(attempt, AttemptState.UP, nodes=[rigs.node(host_key="ssh-ed25519 AAAA")])
        context.journal.set_state(run.run_id, RigState.CONFIGURING)
    return {"kind": "up"}


def launch(run: RunContext, generation: int) -> dict[str, Any]:
    with alone(run.run_id, "launch"), run.opened() as context:
        effect("launch", run.run_id)
        context.journal.append(run.run_id, "job_started", {"generation": generation})
        context.journal.set_state(run.run_id, RigState.RUNNING)
    return {"kind": "launched"}


def watch_job(run: RunContext, generation: int) -> dict[str, Any]:
    """The job has ended once its time is over, whoever watches it."""
    with alone(run.run_id, "watch"), run.opened() as context:
        until = time.monotonic() + JOB_SECONDS
        while time.monotonic() < until:
            run.go_on()
            if run.stop.is_set() or run_facts.cancelled(context, run.run_id):
                return {"kind": "cancelled", "exit_code": None, "limit": "", "reason": ""}
            time.sleep(0.02)
        effect("job-end", run.run_id)
        context.journal.append(
            run.run_id, "job_ended", {"generation": generation, "kind": "done", "exit_code": 0, "checkpoints": 1}
        )
    return {"kind": "done", "exit_code": 0, "limit": "", "reason": ""}


def collect_results(run: RunContext) -> dict[str, Any]:
    with alone(run.run_id, "collect"):
        effect("collect", run.run_id)
        return {"kind": "collected", "outputs": {}, "metrics": {}}


def release_rig(run: RunContext) -> dict[str, Any]:
    with run.opened() as context:
        context.journal.set_state(run.run_id, RigState.RECOVERING)
        _gone(run)
    return {"kind": "released", "clean": True, "doubts": []}


def tear_down(run: RunContext) -> dict[str, Any]:
    with alone(run.run_id, "tear-down"), run.opened() as context:
        _gone(run)
        context.journal.set_state(run.run_id, RigState.DESTROYED, clean=True)
    return {"kind": "destroyed", "clean": True, "doubts": [], "resources": 1}


def _gone(run: RunContext) -> None:
    with run.opened() as context:
        for made in objects.everything():
            if made["labels"] == run.identity.all_labels():
                objects.delete(made["id"])
                effect("delete", run.run_id)
        for attempt in context.journal.attempts(run.run_id):
            context.journal.update_attempt(attempt, AttemptState.GONE)
            ledger.end(context.journal, attempt, context.now())


@contextlib.contextmanager
def begun(
    name: str, environment: Environment = stub_rigs.ENVIRONMENT, *, nodes: int = 1, **changes: Any
) -> Iterator[RunContext]:
    """A run on the stub cloud, written down."""
    placement = Placement(
        job=name,
        catalog=CatalogStamp(digest="d", captured_at=None, age_hours=None, offers=1),
        chosen=stub_rigs.candidate(nodes=nodes),
        fallbacks=(),
        rejections=(),
    )
    job = jobs.a_job(name=name, options=(ResourceOption(cloud="stub"),), **changes)
    with run_verbs.begun(job, environment, placement, silent) as begun:
        yield begun


def put(name: str, environment: Environment = stub_rigs.ENVIRONMENT, **changes: Any) -> str:
    """Queues a run; its id."""
    with begun(name, environment, **changes) as run:
        run_verbs.enqueue(run)
    return run.run_id


def install() -> None:
    for step in (bring_up, collect_results, release_rig, tear_down):
        setattr(run_rig, step.__name__, step)
    setattr(run_launch, launch.__name__, launch)
    setattr(run_watch, watch_job.__name__, watch_job)


def argv(*words: str) -> list[str]:
    return [sys.executable, "-m", "support.cheap_steps", *words]


def pythonpath() -> str:
    here = Path(__file__).parents[1]
    return os.pathsep.join(map(str, (here.parent / "cli", here, here / "support" / "plugins")))


if __name__ == "__main__":
    install()
    if sys.argv[1] == "foreground":
        with begun(sys.argv[2]) as in_front:
            run_verbs.carry_out(in_front)
        sys.exit()
    sys.exit(trainrig(sys.argv[1:]))
