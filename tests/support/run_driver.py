"""`python -m support.run_driver begin|resume NAME`: a run on the stub cloud that kills itself at each point once.

Applies and destroys are real, with the real Terraform; the first machine is preempted. What needs SSH is played:
launching, watching and collecting keep their effects in the cloud's folder. They prove nothing about nodes.

A point is before a step, inside it (of a Terraform step: in the middle of a call of the cloud), or after it, when all
is done and DBOS does not know of it yet. Points that have killed are in the cloud's folder, so each kills one process.
With FULL=ZONE nothing is slow, and nothing is to be had in that zone; with NOWHERE=N the first N machines that the
second rig asks for are not to be had. With LATE the first machine is preempted once its job is done, and before it was
collected from.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from support import jobs, stub_rigs
from support.cheap_steps import effect
from support.stub_cloud import objects
from trainrig.errors import RigError
from trainrig.lifecycle import run, run_launch, run_next, run_rig, run_watch, waiting
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.events import silent
from trainrig.model.job import ResourceOption
from trainrig.model.placement import CatalogStamp, Placement
from trainrig.model.rig import RigState

STEPS = {
    "bring_up": run_rig,
    "launch": run_launch,
    "watch_job": run_watch,
    "next_step": run_next,
    "release_rig": run_rig,
    "collect_results": run_rig,
    "tear_down": run_rig,
}
TERRAFORM = {"bring_up": "create", "release_rig": "delete", "tear_down": "delete"}


LOOK = waiting._look


def killed() -> list[str]:
    path = objects.root() / "killed"
    return path.read_text().split() if path.exists() else []


def kill_once(point: str) -> None:
    wanted = os.environ.get("KILL_AT")
    if (wanted and point not in wanted.split(",")) or point in killed():
        return
    with (objects.root() / "killed").open("a") as file:
        file.write(f"{point}\n")
    os.kill(os.getpid(), signal.SIGKILL)


def launch(context: RunContext, generation: int) -> dict[str, Any]:
    effect(f"launch-{generation}", context.run_id)
    kill_once(f"launch-{generation}:inside")
    with context.opened() as opened:
        opened.journal.append(context.run_id, "job_started", {"generation": generation})
        opened.journal.set_state(context.run_id, RigState.RUNNING)
    return {"kind": "launched"}


def watch_job(context: RunContext, generation: int) -> dict[str, Any]:
    """One of the first two machines is taken away by the cloud; with MOVE, the job moves to the other zone instead."""
    if generation == 1 and os.environ.get("MOVE"):
        return _moving(context)
    lost = generation == 1 and not os.environ.get("LATE")
    if lost:
        _preempted()
    kill_once(f"watch_job-{generation}:inside")
    kind = "lost" if lost else "done"
    with context.opened() as opened:
        data = {"generation": generation, "kind": kind, "exit_code": None, "reason": "", "checkpoints": 1}
        opened.journal.append(context.run_id, "job_ended", data)
    return {"kind": kind, "exit_code": None if kind == "lost" else 0, "limit": "", "reason": ""}


def _preempted() -> None:
    for found in objects.everything():
        if found["type"] == "stub_node" and found["rank"] == 0:
            objects.delete(found["id"])


def _moving(context: RunContext) -> dict[str, Any]:
    with context.opened() as opened:
        opened.journal.append(context.run_id, "moving", {"generation": 1, "to": 1, "reason": "half the price"})
        kill_once("watch_job-1:inside")
        opened.journal.append(context.run_id, "job_ended", {"generation": 1, "kind": "moving", "checkpoints": 1})
    return {"kind": "moving", "to": 1, "reason": "half the price", "exit_code": None}


def collect_results(context: RunContext) -> dict[str, Any]:
    with context.opened() as opened:
        generation = opened.journal.attempts(context.run_id)[-1].generation
    if generation == 1 and os.environ.get("LATE"):
        _preempted()
        kill_once("collect_results:inside")
        return {"kind": "uncollected", "reason": "the node does not answer", "outputs": {}, "metrics": {}}
    assert [o["type"] for o in objects.everything()].count("stub_node") == 2, "collected from machines that are there"
    kill_once("collect_results:inside")
    effect("collect", context.run_id)
    return {"kind": "collected", "outputs": {}, "metrics": {}}


def order_of(_context: Any, _job: Any, _environment: Any, candidates: Any, **more: Any) -> Any:
    return stub_rigs.order(candidates, identity=more["identity"], generation=more["generation"])


def pointed(name: str, step: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def with_points(context: RunContext, *rest: Any) -> dict[str, Any]:
        here = f"{name}-{rest[0]}" if rest else name
        kill_once(f"{here}:before")
        if nowhere := os.environ.get("NOWHERE"):
            if here == "bring_up-2":
                refusal: objects.Fault = {"op": "create", "type": "stub_node", "error": "InsufficientCapacity"}
                objects.order({**refusal, "times": int(nowhere)})
        elif full := os.environ.get("FULL"):
            objects.order({"op": "create", "type": "stub_node", "zone": full, "error": "InsufficientCapacity"})
        elif name in TERRAFORM and f"{here}:inside" not in killed():
            for left_by_a_kill in objects.root().glob("slow-*"):
                left_by_a_kill.unlink()
            objects.order({"op": TERRAFORM[name], "type": "stub_node", "sleep": 0.6})
            threading.Thread(target=_in_a_call, args=[f"{here}:inside"], daemon=True).start()
        result = step(context, *rest)
        kill_once(f"{here}:after")
        return result

    return with_points


def _in_a_call(point: str) -> None:
    while not any(objects.root().glob("slow-*")):
        time.sleep(0.01)
    time.sleep(0.15)
    kill_once(point)


def look(*words: Any) -> Any:
    kill_once("waiting:inside")
    return LOOK(*words)


def install() -> None:
    setattr(waiting, LOOK.__name__, look)
    waiting.FIRST_SECONDS = waiting.LOOK_SECONDS = 0.5
    for place, played in (
        (run_launch, launch),
        (run_watch, watch_job),
        (run_rig, collect_results),
        (run_rig, order_of),
    ):
        setattr(place, played.__name__, played)
    for name, place in STEPS.items():
        setattr(place, name, pointed(name, getattr(place, name)))


def main(verb: str, name: str) -> int:
    install()
    try:
        if verb == "begin":
            placement = Placement(
                job=name,
                catalog=CatalogStamp(digest="d", captured_at=None, age_hours=None, offers=2),
                chosen=stub_rigs.candidate("z-a"),
                fallbacks=(stub_rigs.candidate("z-b"),),
                rejections=(),
            )
            job = jobs.a_job(name=name, options=(ResourceOption(cloud="stub"),))
            with run.begun(job, stub_rigs.ENVIRONMENT, placement, silent) as begun:
                result = run.carry_out(begun)
        else:
            result = run.carry_out(run.resumed(name, silent))
    except RigError as error:
        print(f"{error.code}: {error.message}", file=sys.stderr)
        return error.exit_code
    print(json.dumps(result.document))
    return result.error.exit_code if result.error else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
