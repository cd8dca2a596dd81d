"""Asks the process that carries out a run to end it."""

from __future__ import annotations

from pathlib import Path

from trainrig.errors import RigUnknown
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
        if not locks.held(RigDir.of(home, rig.identity).path):
            raise RigUnknown(
                f"nobody carries out the run of {rig.name}",
                hint=f"trainrig destroy {rig.name} removes what is left, trainrig resume {rig.name} goes on with it",
            )
        journal.update_details(rig.run_id, cancel=True)
        journal.append(rig.run_id, "cancel", {})
        return f"{rig.name} (run {rig.run_id}) was asked to stop"
    finally:
        journal.close()
