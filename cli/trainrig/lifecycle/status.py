"""What is known of a rig, told as it is: a state that a killed process left behind is not taken at its word."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from trainrig.errors import RigError
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.reap import Place, look
from trainrig.model.node import Node
from trainrig.model.rig import RigState
from trainrig.model.status import AttemptStatus, NodeStatus, RigStatus
from trainrig.recovery import losses
from trainrig.recovery.work import work
from trainrig.store import ledger, locks
from trainrig.store.journal import Attempt, AttemptState, Rig
from trainrig.tools import leftover

WORKING = {RigState.APPLYING, RigState.DESTROYING}
RUNNING = {RigState.CONFIGURING, RigState.RUNNING, RigState.RECOVERING, RigState.COLLECTING}


def status(context: Context, rig: Rig, *, ask_cloud: bool = False) -> RigStatus:
    """With `ask_cloud`, every node is looked for in the cloud's inventory."""
    now = context.now()
    attempts = context.journal.attempts(rig.run_id)
    directory = context.rig_dir(rig.identity)
    holder = locks.holder(directory.path) if locks.held(directory.path) else None
    state, notes = _truth(context, rig, attempts, busy=holder is not None)
    if not rig.clean and rig.identity.expires_at < now:
        notes.append(f"its lease is over: trainrig destroy {rig.name}")
    nodes = tuple(n for a in attempts if a.state is AttemptState.UP for n in a.node_list)
    seen = _seen(context, rig, attempts, notes) if ask_cloud and nodes else None
    charges = {(c.generation, c.number): c for c in ledger.charges(context.journal, rig.run_id)}
    lines = [(h.at, h.kind, h.data) for h in context.journal.happenings(rig.run_id, losses.KINDS)]
    return RigStatus(
        name=rig.name,
        run_id=rig.run_id,
        owner=rig.identity.owner,
        environment=rig.identity.environment,
        state=state,
        clean=rig.clean,
        expires_at=rig.identity.expires_at,
        cost_usd=ledger.cost(context.journal, rig.run_id, now),
        attempts=tuple(
            _attempt(a, charges.get((a.generation, a.number)), _lost(lines, attempts, a), context) for a in attempts
        ),
        nodes=tuple(_node(n, seen) for n in nodes),
        holder=None if holder is None else str(holder),
        notes=tuple(notes),
        checkpoint_advice=losses.advice(lines, now),
        work=work(lines) if not rig.clean and any(kind == "job_started" for _, kind, _ in lines) else None,
    )


def _truth(context: Context, rig: Rig, attempts: Sequence[Attempt], *, busy: bool) -> tuple[RigState, list[str]]:
    """The state, and what must be said about it."""
    if rig.clean or busy:
        return rig.state, []
    if rig.waits:
        return rig.state, [f"waits on the queue: {w}" for w in rig.details.get("waits_for", ["for a trainrig worker"])]
    notes = [
        f"{a.generation}-{a.number}: something of it may be left" for a in attempts if a.state is AttemptState.UNSURE
    ]
    if rig.state in WORKING:
        directory = context.rig_dir(rig.identity)
        if any(leftover.running(directory.attempt(a.generation, a.number)) for a in attempts):
            return rig.state, [*notes, "trainrig was killed; its Terraform still works and will write its state"]
        notes.append(f"interrupted while {rig.state}; what was created may exist: trainrig destroy {rig.name}")
        return RigState.FAILED, notes
    if rig.state in RUNNING and rig.details.get("verb") == "run":
        ends = "ends it" if rig.details.get("cancel") else "goes on with it"
        notes.append(f"its run was interrupted: trainrig resume {rig.name}, or a trainrig worker, {ends}")
    if rig.state is RigState.PLANNED and rig.details.get("verb") == "run":  # no worker knows of it yet
        notes.append(f"its run was interrupted before it began: trainrig resume {rig.name}, or destroy {rig.name}")
    if rig.state is RigState.FAILED:
        notes.append(f"something of it may be left: trainrig destroy {rig.name}")
    return rig.state, notes


def _seen(context: Context, rig: Rig, attempts: Sequence[Attempt], notes: list[str]) -> set[str] | None:
    """Ids that the clouds show for this run; None when they cannot be asked."""
    ids: set[str] = set()
    for attempt in attempts:
        if attempt.state is AttemptState.UP:
            try:
                place = Place(cloud=attempt.cloud, regions=(attempt.region,), account=attempt.account)
                ids |= {r.id for r in look(context, place, rig.run_id)}
            except RigError as error:
                notes.append(f"{attempt.cloud} could not be asked: {error.message}")
                return None
    return ids


def _node(node: Node, seen: set[str] | None) -> NodeStatus:
    return NodeStatus(node=node, seen=None if seen is None else node.instance_id in seen)


def _lost(lines: Sequence[losses.Line], attempts: Sequence[Attempt], attempt: Attempt) -> int | None:
    """What the jobs on the nodes of an attempt have lost: of its own generation, where it is the one that came up, and
    of those that started again on the same nodes."""
    later = [a for a in attempts if (a.generation, a.number) > (attempt.generation, attempt.number)]
    if any(a.generation == attempt.generation for a in later):
        return None
    ends = min((a.generation for a in later), default=None)
    last = max((d["generation"] for _, kind, d in lines if kind == "job_started"), default=attempt.generation)
    of = range(attempt.generation, last + 1 if ends is None else ends)
    found = [seconds for g in of if (seconds := losses.lost_seconds(lines, g)) is not None]
    return sum(found) if found else None


def _attempt(
    attempt: Attempt, charge: ledger.Charge | None, lost_seconds: int | None, context: Context
) -> AttemptStatus:
    now = context.now()
    return AttemptStatus(
        generation=attempt.generation,
        number=attempt.number,
        cloud=attempt.cloud,
        region=attempt.region,
        zone=attempt.zone,
        instance_type=attempt.instance_type,
        market=attempt.market,
        nodes=attempt.nodes,
        price_hour_usd=attempt.price_hour_usd,
        state=attempt.state.value,
        fault=attempt.fault,
        reason=attempt.reason,
        started_at=attempt.started_at,
        seconds=int(((attempt.ended_at or now) - attempt.started_at).total_seconds()),
        cost_usd=Decimal("0.00") if charge is None else charge.usd(now),
        lost_seconds=lost_seconds,
        tries=attempt.tries,
    )
