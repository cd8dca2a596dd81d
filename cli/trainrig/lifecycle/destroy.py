"""Destroys a rig and proves it: from state, then by label, then by looking twice.

Nothing here needs Terraform's outputs, and nothing needs its state: a run id is enough. It cannot reach data, since
buckets live in another state and carry no run id.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from trainrig.errors import RigUnknown, UsageError
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.reap import Reaped, applied, everywhere, look, places_of, reap, reap_once
from trainrig.lifecycle.rig_environment import in_own_environment
from trainrig.lifecycle.teardown import Teardown, remove
from trainrig.model.proof import Fate, How, Proof
from trainrig.model.rig import RigIdentity, RigState, is_run_id
from trainrig.store import ledger, locks
from trainrig.store.journal import AttemptState, Rig
from trainrig.tools import interrupt, ssh


def destroy_named(context: Context, name: str, environment: str | None) -> tuple[Proof, ...]:
    """Destroys the rig of that name or run id; where the journal has none, the runs whose resources bear the name.

    Raises:
        RigUnknown: neither knows it.
    """
    try:
        rig = context.journal.find(name)
    except RigUnknown:
        return tuple(destroy_by_label(context, run_id, name=name) for run_id in run_ids_by_label(context, name))
    return (destroy(in_own_environment(context, rig, environment), rig),)


def destroy_run(context: Context, run_id: str, environment: str | None) -> tuple[Proof, ...]:
    """Destroys a run, known here or not. Absent is done.

    Raises:
        UsageError: it is no run id. No resource bears it, so that nothing found would prove nothing.
    """
    try:
        rig = context.journal.rig(run_id)
    except RigUnknown:
        if not is_run_id(run_id) or _is_name(context, run_id):
            raise UsageError(
                f"{run_id!r} is no run id: those have eight letters and digits, such as t4amznw9",
                hint="for a rig's name: trainrig destroy NAME; trainrig sweep lists the run ids that the clouds show",
            ) from None
        return (destroy_by_label(context, run_id),)
    return (destroy(in_own_environment(context, rig, environment), rig),)


def destroy(context: Context, rig: Rig, *, wait_seconds: float = 0) -> Proof:
    """Destroys a rig of the journal. Again for one that is gone: looks, finds nothing, and says so.

    Raises:
        RigBusy: somebody else is working on it.
    """
    directory = context.rig_dir(rig.identity)
    with interrupt.handled(), locks.hold(directory.path, "destroy", wait_seconds=wait_seconds):
        was_clean = rig.clean
        if not was_clean:
            if rig.details.get("verb") == "run":  # whoever goes on with it ends it, and brings nothing up any more
                context.journal.update_details(rig.run_id, cancel=True)
            context.journal.set_state(rig.run_id, RigState.DESTROYING)
        proof = prove_gone(context, rig)
        if proof.clean or not was_clean:
            state = RigState.DESTROYED if proof.clean else RigState.FAILED
            context.journal.set_state(rig.run_id, state, clean=proof.clean, reason="; ".join(proof.doubts))
        if proof.clean:
            ssh.forget(directory.path)
        return proof


def prove_gone(context: Context, rig: Rig) -> Proof:
    """Destroys all that a rig has in any cloud. What becomes of the rig itself is for the caller to say."""
    attempts = context.journal.attempts(rig.run_id)
    torn: list[Teardown] = []
    reaped = Reaped()
    asked = applied(context, rig.run_id, attempts)
    for attempt in reversed(asked):
        if attempt.state.may_bill:
            removed, found = remove(context, rig, attempt)
            torn.append(removed)
            reaped = reaped.then(found)
    # What was proven gone needs one more look, not the whole proof again.
    reaped = reaped.then((reap_once if rig.clean else reap)(context, places_of(asked), rig.run_id))
    proof = _proof(context, rig.name, rig.run_id, torn, reaped)
    for attempt in attempts:
        if proof.clean:
            ledger.end(context.journal, attempt, context.now())
            context.journal.update_attempt(attempt, AttemptState.GONE)
        elif attempt.state.may_bill:
            context.journal.update_attempt(attempt, AttemptState.UNSURE)
    return proof


def destroy_by_label(context: Context, run_id: str, *, name: str = "") -> Proof:
    """Destroys a run that this machine has no journal of, in every cloud and region that the environment allows."""
    with interrupt.handled():
        return _proof(context, name or run_id, run_id, (), reap(context, everywhere(context), run_id))


def _is_name(context: Context, text: str) -> bool:
    try:
        context.journal.find(text)
    except RigUnknown:
        return False
    return True


def run_ids_by_label(context: Context, name: str) -> tuple[str, ...]:
    """Run ids under which the clouds of the environment show resources named after a rig.

    Raises:
        RigUnknown: there are none.
    """
    stem = RigIdentity(
        name=name, run_id="", owner="", project="", environment="", expires_at=context.now()
    ).resource_prefix
    found = set()
    for place in everywhere(context):
        for resource in look(context, place, None):
            if resource.run_id and resource.name.startswith(f"{stem}{resource.run_id}"):
                found.add(resource.run_id)
    if not found:
        raise RigUnknown(
            f"neither the journal nor a cloud of environment {context.environment.name!r} knows a rig {name!r}",
            hint="trainrig status lists the rigs of this machine, trainrig sweep what the clouds show",
        )
    return tuple(sorted(found))


def _proof(context: Context, name: str, run_id: str, torn: Sequence[Teardown], reaped: Reaped) -> Proof:
    """Gone is what Terraform or a sweep has deleted and the last look, which came after, did not show."""
    now = context.now()
    left = {identifier: words for (_, identifier), words in reaped.refused.items()}
    fates = []
    for t in torn:
        for r in (*t.destroyed, *t.remaining):
            by_terraform = r in t.destroyed
            gone = reaped.is_gone(r.id) or (by_terraform and r.id not in left)
            words = left.get(r.id) or t.problem
            fates.append(_fate(r.type, r.id, now if gone else None, "terraform" if by_terraform else "sweep", words))
    known = {f.id for f in fates}
    for found in reaped.found.values():
        if found.id not in known:
            words = left.get(found.id, "")
            fates.append(_fate(found.type, found.id, None if found.id in left else now, "sweep", words))
    return Proof(rig=name, run_id=run_id, fates=tuple(fates), doubts=tuple(reaped.doubts))


def _fate(kind: str, identifier: str, gone_at: datetime | None, how: How, words: str) -> Fate:
    gone = gone_at is not None
    return Fate(type=kind, id=identifier, gone=gone, seen_gone_at=gone_at, how=how, detail="" if gone else words)
