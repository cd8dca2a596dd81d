"""The life of a run as a durable workflow: place, apply, configure, start, watch, recover, collect, destroy.

DBOS keeps which step has ended, with its result; after a crash the workflow is played again, and goes on with the step
that had not ended. Steps are in run_steps.py, and each may be taken twice. Everything that crosses a step is JSON.

The executor's id is the run's own: a process only ever recovers the run that it was told to go on with, so two
processes on one machine never play the same workflow.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID, WorkflowHandle

from trainrig.lifecycle import run_steps
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.offer import Market

# Raised when the steps or their order change, so that an old run is not played with new steps.
WORKFLOW_VERSION = "1"

# DBOS calls functions by name and hands them JSON; what cannot be JSON (who observes, who interrupts) is found here.
_contexts: dict[str, RunContext] = {}


@DBOS.step()
def _bring_up(run_id: str, generation: int, market: str | None) -> dict[str, Any]:
    return run_steps.bring_up(_contexts[run_id], generation, Market(market) if market else None)


@DBOS.step()
def _launch(run_id: str, generation: int) -> dict[str, Any]:
    return run_steps.launch(_contexts[run_id], generation)


@DBOS.step()
def _watch(run_id: str, generation: int) -> dict[str, Any]:
    return run_steps.watch_job(_contexts[run_id], generation)


@DBOS.step()
def _decide(run_id: str, generation: int, seen: Mapping[str, Any]) -> dict[str, Any]:
    return run_steps.next_step(_contexts[run_id], generation, seen)


@DBOS.step()
def _release(run_id: str) -> dict[str, Any]:
    return run_steps.release_rig(_contexts[run_id])


@DBOS.step()
def _collect(run_id: str) -> dict[str, Any]:
    return run_steps.collect_results(_contexts[run_id])


@DBOS.step()
def _tear_down(run_id: str) -> dict[str, Any]:
    return run_steps.tear_down(_contexts[run_id])


@DBOS.workflow()
def run_workflow(run_id: str) -> dict[str, Any]:
    """Returns `{end, collected, destroyed}`; the job's failure is a result here, not an error."""
    generation, market, up = 1, None, False
    while True:
        seen = {"kind": "up"} if up else _bring_up(run_id, generation, market)
        if seen["kind"] == "up":
            seen = _launch(run_id, generation)
        if seen["kind"] == "launched":
            seen = _watch(run_id, generation)
        action = _decide(run_id, generation, seen)
        if action["do"] == "end":
            break
        if action["do"] == "replace":
            released = _release(run_id)
            if not released["clean"]:
                # Two rigs of one run would bill twice and write into each other's checkpoints.
                action = {"do": "end", "end": {"kind": "unclean", "reason": "the lost rig could not be proven gone"}}
                break
            market = action["market"]
        up = action["do"] == "restart"  # the nodes are fine, and the job is started on them again
        generation += 1
    collected = _collect(run_id) if action["end"].get("alive") else {"outputs": {}}
    return {"end": action["end"], "collected": collected, "destroyed": _tear_down(run_id), "generation": generation}


@contextmanager
def running(context: RunContext, database_url: str) -> Iterator[WorkflowHandle[dict[str, Any]]]:
    """Starts the run's workflow, or goes on with it, in threads of this process."""
    logging.getLogger("dbos").setLevel(logging.CRITICAL)
    config = DBOSConfig(
        name="trainrig",
        system_database_url=database_url,
        executor_id=f"run-{context.run_id}",
        application_version=WORKFLOW_VERSION,
        log_level="CRITICAL",
    )
    _contexts[context.run_id] = context
    DBOS(config=config)
    DBOS.launch()
    try:
        with SetWorkflowID(context.run_id):
            yield DBOS.start_workflow(run_workflow, context.run_id)
    finally:
        DBOS.destroy()
        del _contexts[context.run_id]
