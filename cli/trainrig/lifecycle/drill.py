"""Preempts a node on purpose: what a recovery is worth shows only when one is needed."""

from __future__ import annotations

from trainrig.clouds import registry
from trainrig.errors import RigUnknown
from trainrig.lifecycle.context import Context, opened
from trainrig.lifecycle.load_job import find_environment
from trainrig.lifecycle.rig_environment import in_own_environment
from trainrig.model.node import Node
from trainrig.store.journal import Attempt, AttemptState


def drill(name_or_run_id: str, *, rank: int, notice: bool) -> str:
    """Returns what was done, in words.

    Raises:
        RigUnknown: no such rig, or no such node that is up.
        NotBuilt: the cloud cannot do it.
    """
    with opened(find_environment(None)) as context:
        rig = context.journal.find(name_or_run_id)
        context = in_own_environment(context, rig, None)
        up = [a for a in context.journal.attempts(rig.run_id) if a.state is AttemptState.UP]
        nodes = [n for a in up[-1:] for n in a.node_list if n.rank == rank]
        if not nodes:
            raise RigUnknown(f"{rig.name} has no node of rank {rank} that is up", hint=f"trainrig status {rig.name}")
        context.journal.append(rig.run_id, "drill", {"rank": rank, "notice": notice})
        preempt(context, up[-1], nodes[0], notice=notice)
        if not notice:
            return f"{nodes[0].name} was taken away without notice"
        return f"{nodes[0].name} knows that it is gone in {registry.facts(up[-1].cloud).preemption_notice_seconds} s"


def preempt(context: Context, attempt: Attempt, node: Node, *, notice: bool = False) -> None:
    registry.drill(attempt.cloud).preempt(
        context.account(attempt.cloud, (attempt.region,), attempt.account), node, notice=notice
    )
