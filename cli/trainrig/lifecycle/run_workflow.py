"""The life of a run as a durable workflow: place, apply, configure, start, watch, recover, collect, destroy.

DBOS keeps which step has ended, with its result; after a crash the workflow is played again, and goes on with the step
that had not ended. Steps are in run_rig.py, run_launch.py, run_watch.py and run_next.py, and each may be taken twice.
Everything that crosses a step is JSON.

Whoever plays a workflow holds the lock of its rig's folder meanwhile. That, beside the queues of run_engine.py, keeps
two processes from working on one run, on one machine or on two that share TRAINRIG_HOME.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from typing import Any, ParamSpec

from dbos import DBOS, SetWorkflowID, WorkflowHandle

from trainrig import crash_log
from trainrig.errors import RigBusy, RigError
from trainrig.lifecycle import run_engine, run_facts, run_launch, run_next, run_rig, run_watch
from trainrig.lifecycle.results import error_document
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.offer import Market
from trainrig.store import locks

LOCK_LOOK_SECONDS = 1.0
CANCEL_LOOK_SECONDS = 1.0

# DBOS calls functions by name and hands them JSON; what cannot be JSON (who observes, who interrupts) is found here.
_contexts: dict[str, RunContext] = {}
_opened = threading.Lock()

# How a run ended, or what came in between.
Ended = Callable[[RunContext, Mapping[str, Any] | RigError], None]
_open: Callable[[str], RunContext] | None = None
Step = ParamSpec("Step")
_ended: Ended = lambda _run, _how: None  # noqa: E731


def _step(work: Callable[Step, dict[str, Any]]) -> Callable[Step, dict[str, Any]]:
    """One of DBOS's steps. What nobody expected ends the run like an error that was: it would be raised again at each
    resume, while the rig bills."""

    @wraps(work)
    def guarded(*args: Step.args, **more: Step.kwargs) -> dict[str, Any]:
        try:
            return work(*args, **more)
        except RigError:
            raise
        except Exception as error:
            raise crash_log.internal(error, verb="run") from error

    return DBOS.step()(guarded)


@_step
def _begin(run_id: str) -> dict[str, Any]:
    return run_rig.begin(_context(run_id))


@_step
def _bring_up(run_id: str, generation: int, market: str | None, to: int | None) -> dict[str, Any]:
    with _heeding(_context(run_id)) as run:
        return run_rig.bring_up(run, generation, Market(market) if market else None, to)


@_step
def _launch(run_id: str, generation: int) -> dict[str, Any]:
    with _heeding(_context(run_id)) as run:
        return run_launch.launch(run, generation)


@_step
def _watch(run_id: str, generation: int) -> dict[str, Any]:
    return run_watch.watch_job(_context(run_id), generation)


@_step
def _decide(run_id: str, generation: int, seen: Mapping[str, Any]) -> dict[str, Any]:
    return run_next.next_step(_context(run_id), generation, seen)


@_step
def _release(run_id: str) -> dict[str, Any]:
    return run_rig.release_rig(_context(run_id))


@_step
def _collect(run_id: str) -> dict[str, Any]:
    with _heeding(_context(run_id)) as run:
        return run_rig.collect_results(run)


@_step
def _tear_down(run_id: str) -> dict[str, Any]:
    return run_rig.tear_down(_context(run_id))


@_step
def _tell_end(run_id: str, ended: Mapping[str, Any]) -> dict[str, Any]:
    clean = ended["destroyed"]["clean"]
    return run_next.tell_end(_context(run_id), ended["generation"], ended["end"], clean=clean)


@DBOS.workflow()
def run_workflow(run_id: str) -> dict[str, Any]:
    """Returns `{end, collected, destroyed, generation}`; the job's failure is a result here, not an error."""
    with _played(run_id) as run, _heard(run) as ended:
        ended.update(_run(run_id))
        _tell_end(run_id, ended)
    return ended


@DBOS.workflow()
def queued_workflow(run_id: str) -> dict[str, Any]:
    """The same for a run that has waited: its lease and its clock begin when it is taken."""
    with _played(run_id) as run, _heard(run) as ended:
        begun = _begin(run_id)
        if begun["kind"] == "begun":
            _contexts[run_id] = run.again()  # with the lease that it has now
            ended.update(_run(run_id))
        else:
            ended.update({"end": begun, "collected": {}, "destroyed": _tear_down(run_id), "generation": 1})
        _tell_end(run_id, ended)
    return ended


def _run(run_id: str) -> dict[str, Any]:
    """A step that raised what it knows no answer to ends the run: nothing that bills is left for somebody to find."""
    try:
        return _lived(run_id)
    except RigError as error:
        end = {"kind": "refused", "error": error_document(error)}
        return {"end": end, "collected": {}, "destroyed": _tear_down(run_id), "generation": 1}


def _lived(run_id: str) -> dict[str, Any]:
    generation, market, to, up = 1, None, None, False
    while True:
        collected: dict[str, Any] = {}
        seen = {"kind": "up"} if up else _bring_up(run_id, generation, market, to)
        if seen["kind"] == "up":
            seen = _launch(run_id, generation)
        if seen["kind"] == "launched":
            seen = _watch(run_id, generation)
        action = _decide(run_id, generation, seen)
        if action["do"] == "end" and action["end"].get("alive"):
            collected = _collect(run_id)
            if collected["kind"] == "uncollected" and action["end"]["kind"] == "done":
                action = _decide(run_id, generation, {"kind": "uncollected", "end": action["end"]})
        if action["do"] == "end":
            break
        if action["do"] == "replace":
            released = _release(run_id)
            if not released["clean"]:
                # Two rigs of one run would bill twice and write into each other's checkpoints.
                action = {"do": "end", "end": {"kind": "unclean", "reason": "the lost rig could not be proven gone"}}
                break
            market, to = action["market"], action["to"]
        up = action["do"] == "restart"  # the nodes are fine, and the job is started on them again
        generation += 1
    return {"end": action["end"], "collected": collected, "destroyed": _tear_down(run_id), "generation": generation}


@contextmanager
def running(context: RunContext) -> Iterator[WorkflowHandle[dict[str, Any]]]:
    """Starts the run's workflow, or goes on with it, in threads of this process, which holds the rig's lock.

    Raises:
        PreflightFailed: the database does not answer.
        StateTooNew: another version of trainrig began it.
    """
    executor = run_engine.executor_id(f"run-{context.run_id}")
    _contexts[context.run_id] = context
    try:
        with run_engine.launched(executor):
            if DBOS.get_workflow_status(context.run_id) is None:
                with SetWorkflowID(context.run_id):
                    yield DBOS.start_workflow(run_workflow, context.run_id)
            else:
                with run_engine.own_queue(executor):
                    yield run_engine.take(context.run_id, executor)
    finally:
        _contexts.pop(context.run_id, None)


@contextmanager
def serving(opener: Callable[[str], RunContext], ended: Ended) -> Iterator[None]:
    """Lets workflows find the runs that they are of by `opener`; `ended` hears how each ended."""
    global _open, _ended
    before = _open, _ended
    _open, _ended = opener, ended
    try:
        yield
    finally:
        _open, _ended = before


def playing() -> bool:
    """Whether a workflow is played in this process, or waits for its rig's lock."""
    return bool(_contexts)


@contextmanager
def _played(run_id: str) -> Iterator[RunContext]:
    with _opened:
        given = run_id in _contexts
        if not given:
            if _open is None:
                raise RigError(f"run {run_id} is not one that this process was given")
            _contexts[run_id] = _open(run_id)
    run = _contexts[run_id]
    try:
        with _alone(run):
            yield run
    finally:
        if not given:
            _contexts.pop(run_id, None)


@contextmanager
def _heeding(run: RunContext) -> Iterator[RunContext]:
    """Lets a cancel end the step that runs: a rig that comes up or is configured shall not get as far as its job.

    Not for the step that watches a job, which looks by itself: one worker watches hundreds, and each look costs."""
    over = threading.Event()

    def look() -> None:
        with suppress(RigError), run.opened() as context:  # a journal that does not answer is for the steps to tell of
            while not run_facts.cancelled(context, run.run_id):
                if over.wait(CANCEL_LOOK_SECONDS):
                    return
            run.stop.set()

    thread = threading.Thread(target=look, name=f"cancel-{run.run_id}", daemon=True)
    thread.start()
    try:
        yield run
    finally:
        over.set()
        thread.join()


@contextmanager
def _heard(run: RunContext) -> Iterator[dict[str, Any]]:
    """Lets who serves hear how the run ended: what is put into the dictionary, or an error."""
    ended: dict[str, Any] = {}
    try:
        yield ended
    except RigError as error:
        _ended(run, error)
        raise
    _ended(run, ended)


@contextmanager
def _alone(run: RunContext) -> Iterator[None]:
    """The rig's lock. Whoever has it has begun to let go of the run, or has ended it; then what is left is little."""
    with ExitStack() as held:
        while True:
            run.go_on()
            try:
                held.enter_context(locks.hold(run.rig.path, "run", wait_seconds=LOCK_LOOK_SECONDS))
                break
            except RigBusy:
                continue
        yield


def _context(run_id: str) -> RunContext:
    """Asked once before each step: a process that is about to end begins no further one."""
    run = _contexts[run_id]
    run.go_on()
    return run
