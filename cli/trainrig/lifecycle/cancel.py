"""Asks the process that carries out a run to end it, or takes a run that waits off the queue."""

from __future__ import annotations

import contextlib
from pathlib import Path

from trainrig.errors import RigBusy, RigUnknown
from trainrig.model.rig import RigState
from trainrig.store import locks
from trainrig.store.journal import Journal
from trainrig.store.workdir import RigDir


def cancel(home: Path, name_or_run_id: str) -> str:
    """Writes the wish down; the run's own process acts on it within a second or two. Returns what was done, in words.

    Raises:
        RigUnknown: no such rig, or no process carries its run out.
    """
    journal = Journal(home)
    try:
        rig = journal.find(name_or_run_id)
        directory = RigDir.of(home, rig.identity).path
        if rig.waits and not rig.clean:
            with contextlib.suppress(RigBusy), locks.hold(directory, "cancel"):
                journal.update_details(rig.run_id, cancel=True)
                journal.set_state(rig.run_id, RigState.DESTROYED, clean=True, reason="cancelled while it waited")
                return f"{rig.name} (run {rig.run_id}) waited, and will not be begun"
        if rig.clean:
            raise RigUnknown(f"the run of {rig.name} has ended: it is {rig.state}")
        if not locks.held(directory):
            raise RigUnknown(
                f"nobody carries out the run of {rig.name}",
                hint=f"trainrig destroy {rig.name} removes what is left, trainrig resume {rig.name} goes on with it",
            )
        journal.update_details(rig.run_id, cancel=True)
        journal.append(rig.run_id, "cancel", {})
        return f"{rig.name} (run {rig.run_id}) was asked to stop"
    finally:
        journal.close()
