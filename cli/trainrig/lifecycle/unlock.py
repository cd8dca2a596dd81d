"""Breaks the state lock of a rig, on evidence that its holder is dead, and never without."""

from __future__ import annotations

import json
import os
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

from trainrig.errors import RigBusy
from trainrig.lifecycle.context import Context
from trainrig.store import locks
from trainrig.store.journal import Attempt, Rig
from trainrig.store.locks import Holder
from trainrig.tools import azure_lease, leftover, pipeline
from trainrig.tools.terraform import Terraform
from trainrig.tools.terraform_lock import StateLock

PROBE = "unlock.tfplan"


def unlock(context: Context, rig: Rig, *, force_older_than: timedelta | None = None) -> tuple[str, ...]:
    """What was released, in words. Evidence is: the lock is of this machine, and no Terraform works on that state; or
    its holder was a step of a CI run that has ended. Else it must be old, and the caller must say so
    (`force_older_than`).

    Raises:
        RigBusy: the holder is alive, or nothing proves that it is dead.
    """
    released = []
    directory = context.rig_dir(rig.identity)
    last = locks.holder(directory.path)  # a note that a dead process has left
    with locks.hold(directory.path, "unlock", noted=False):  # a living trainrig holds it, and then this is refused
        for attempt in context.journal.attempts(rig.run_id):
            root = directory.attempt(attempt.generation, attempt.number)
            if attempt.state.may_bill and (root / "main.tf").exists():
                released += _unlock(context, root, attempt, last, force_older_than)
    return tuple(released)


def release_own(terraform: Terraform, busy: RigBusy) -> bool:
    """Releases the lock that an error tells of, where the evidence is all here: it is of this machine, and nothing here
    works on that state."""
    found = busy.details.get("lock")
    if not isinstance(found, dict):
        return False
    lock = StateLock(**found)
    if lock.host != socket.gethostname() or leftover.running(terraform.root):
        return False
    _release(terraform, lock)
    return True


def probe(terraform: Terraform) -> None:
    """Takes the state's lock and gives it back. Raises RigBusy when it is not to be had in time."""
    if not (terraform.root / ".terraform").exists():
        terraform.init().check()
    found = terraform.plan(out=PROBE, refresh=False)
    if any("terraform init" in e.text for e in found.errors):  # the plugins were another machine's
        terraform.init().check()
        terraform.plan(out=PROBE, refresh=False)
    (terraform.root / PROBE).unlink(missing_ok=True)


def _unlock(
    context: Context, root: Path, attempt: Attempt, last: Holder | None, force_older_than: timedelta | None
) -> list[str]:
    with context.terraform(root, attempt.cloud, lock_timeout_seconds=0) as terraform:
        try:
            probe(terraform)
        except RigBusy as busy:
            if not (release_own(terraform, busy) or _release_ended(terraform, busy, last)):
                _release_old(context, terraform, busy, force_older_than)
            return [f"attempt {attempt.generation}-{attempt.number}: released, {busy.message}"]
    return []


def _release_ended(terraform: Terraform, busy: RigBusy, last: Holder | None) -> bool:
    """Releases the lock of a CI run that has ended: its machine is gone, or belongs to another run by now."""
    found = busy.details.get("lock")
    if not isinstance(found, dict) or last is None or last.pipeline is None or leftover.running(terraform.root):
        return False
    lock = StateLock(**found)
    if lock.host != last.where or not pipeline.ended(last.pipeline, os.environ):
        return False
    _release(terraform, lock)
    return True


def _release_old(context: Context, terraform: Terraform, busy: RigBusy, older_than: timedelta | None) -> None:
    found = busy.details.get("lock")
    if not isinstance(found, dict) or leftover.running(terraform.root):
        raise busy
    lock = StateLock(**found)
    created = _created(
        lock
    )  # None: a lease on an Azure blob that tells nothing; then the caller's word is all there is
    if older_than is None or (created is not None and context.now() - created < older_than):
        raise RigBusy(
            busy.message,
            hint="see there that nothing works on it any more; then: trainrig unlock RIG --force-older-than 1h",
            details=busy.details,
        )
    _release(terraform, lock)


def _created(lock: StateLock) -> datetime | None:
    """Terraform writes `2026-01-31 12:00:00.123456789 +0000 UTC`."""
    try:
        return datetime.strptime(lock.created[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def _release(terraform: Terraform, lock: StateLock) -> None:
    if lock.id:
        terraform.force_unlock(lock.id)
        return
    # An Azure blob's lease may carry no lock that Terraform can read; then only the lease itself can be broken.
    backend = json.loads((terraform.root / "backend.tf.json").read_text(encoding="utf-8"))["terraform"]["backend"]
    azure_lease.break_lease(backend["azurerm"])
