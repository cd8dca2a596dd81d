"""The steps of a run that are about its rig: from a place in the queue to nothing left.

Each step of a run, these and those of run_launch.py, run_watch.py and run_next.py, can be taken again after a crash,
wherever in it the crash was, and does nothing twice. It returns a JSON object with `kind`; an expected failure is a
result, so that the workflow can act on it.
"""

from __future__ import annotations

import os
from typing import Any

from trainrig import errors
from trainrig.lifecycle import admitted, apply, collect, extend, results, run_facts, waiting
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.destroy import prove_gone
from trainrig.lifecycle.order import order_of
from trainrig.lifecycle.results import error_document
from trainrig.lifecycle.run_context import RunContext
from trainrig.lifecycle.secret_values import secret_values
from trainrig.model.offer import Market
from trainrig.model.rig import RigState
from trainrig.placement.admission import use_of
from trainrig.render.identity import lease_end, lease_seconds
from trainrig.tools import ssh as ssh_tool


def begin(run: RunContext) -> dict[str, Any]:
    """Takes a run that waited: `begun`; `cancelled` or destroyed while it waited; `refused`: it cannot be done here."""
    with run.opened() as context:
        if run.stop.is_set() or context.journal.rig(run.run_id).clean:
            return {"kind": "cancelled"}
        try:
            secret_values(run.job, os.environ)
        except errors.CredentialsMissing as error:
            return {"kind": "refused", "error": error_document(error)}
        lease = lease_seconds(run.job, run.environment)
        context.journal.begin(run.run_id, lease_end(context.now(), lease))
    return {"kind": "begun"}


def bring_up(run: RunContext, generation: int, market: Market | None, to: int | None) -> dict[str, Any]:
    """A rig of this generation: `up`, `interrupted`, `refused` with the error; `policy`: a limit came before it, as
    while the run waited for machines or nobody was at it. `to`: the number of the candidate that the run moves to."""
    with run.opened() as context:
        seen = _try_places(context, run, generation, market, to)
        if generation == 1 or not waiting.passes(seen):
            return seen  # at the first start somebody is there who can say what else would do
        return waiting.until_up(
            context, run, generation, seen, lambda now_market: _try_places(context, run, generation, now_market, None)
        )


def _try_places(
    context: Context, run: RunContext, generation: int, market: Market | None, to: int | None
) -> dict[str, Any]:
    if run.stop.is_set() or context.journal.rig(run.run_id).clean:  # destroyed while nobody was at it
        return {"kind": "interrupted"}
    extend.as_asked(context, context.journal.rig(run.run_id))
    if over := run_facts.over(context, run, generation):
        return over
    try:
        apply.apply(
            context,
            order_of(
                context,
                run.job,
                run.environment,
                tuple(admitted.with_room(context.journal, run, run_facts.candidates(context, run, market, to))),
                identity=context.journal.rig(run.run_id).identity,  # with the lease that it has now
                rig=run.rig,
                generation=generation,
            ),
            of_run=True,
        )
    except errors.Interrupted:
        return {"kind": "interrupted"}
    except errors.RigError as error:
        return {"kind": "refused", "error": error_document(error)}
    found = run_facts.candidate_of(run.placement, run_facts.living(context, run.run_id))
    admitted.take(context.journal, run.run_id, use_of(run.environment, found))
    return {"kind": "up"}


def release_rig(run: RunContext) -> dict[str, Any]:
    """Destroys the rig and proves it, before the next one: two of a run never exist at once."""
    with run.opened() as context:
        context.journal.set_state(run.run_id, RigState.RECOVERING)
        proof = prove_gone(context, context.journal.rig(run.run_id))
        return {"kind": "released", "clean": proof.clean, "doubts": list(proof.doubts)}


def collect_results(run: RunContext) -> dict[str, Any]:
    """Fetches and checks the outputs while the nodes are there."""
    with run.opened() as context:
        try:
            attempt = run_facts.living(context, run.run_id)
        except errors.RigUnknown as error:  # destroyed while nobody was at it
            return {"kind": "uncollected", "reason": error.message, "outputs": {}, "metrics": {}}
        context.journal.set_state(run.run_id, RigState.COLLECTING)
        ssh = ssh_tool.connect(run.rig.path, attempt.node_list)
        try:
            # First what needs no store to answer.
            found = collect.collect_outputs(ssh, run.job, run.outputs, run.observe)
            collect.flush_mounts(ssh, run.job, run.observe, run.stop.is_set)
        except errors.CommandFailed as error:
            return {"kind": "uncollected", "reason": error.message, "outputs": {}, "metrics": {}}
        finally:
            ssh.close()
        context.journal.append(run.run_id, run_facts.COLLECTED, {})
    return {
        "kind": "collected",
        "outputs": results.outputs_document(found),
        "metrics": results.metrics_of(found),
    }


def tear_down(run: RunContext) -> dict[str, Any]:
    """Destroys what is left and proves it."""
    with run.opened() as context:
        rig = context.journal.rig(run.run_id)
        proof = prove_gone(context, rig)
        state = RigState.DESTROYED if proof.clean else RigState.FAILED
        context.journal.set_state(run.run_id, state, clean=proof.clean, reason="; ".join(proof.doubts))
        if proof.clean:
            ssh_tool.forget(run.rig.path)
    return {"kind": "destroyed", "clean": proof.clean, "doubts": list(proof.doubts), "resources": len(proof.fates)}
