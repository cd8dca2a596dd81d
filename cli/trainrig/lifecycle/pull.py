"""Copies what a run has made into a folder of the user's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainrig import settings
from trainrig.errors import RigUnknown
from trainrig.lifecycle import collect, results
from trainrig.lifecycle.run_context import RunContext, load
from trainrig.model.events import Observer
from trainrig.store.journal import AttemptState
from trainrig.tools import rsync
from trainrig.tools import ssh as ssh_tool


@dataclass(frozen=True, kw_only=True, slots=True)
class Pulled:
    paths: tuple[Path, ...]
    document: Mapping[str, Any]  # trainrig.pull/1


def pull(name_or_run_id: str, out: Path, observe: Observer) -> Pulled:
    """From the nodes while there are any, else what was collected before the rig was destroyed.

    Raises:
        RigUnknown: no such run, or it has not made anything.
        CommandFailed: a copy failed.
    """
    run = load(settings.home(), name_or_run_id, observe)
    found = _from_nodes(run, out) or _from_folder(run, out)
    checkpoint, skipped = run.checkpoints.newest()
    paths = list(found.values())
    if checkpoint is not None:
        rsync.copy(checkpoint.files, out / "checkpoint")
        paths.append(out / "checkpoint")
    if not paths:
        raise RigUnknown(f"{run.identity.name} has made nothing yet", hint="trainrig status shows how far it is")
    return Pulled(
        paths=tuple(paths),
        document={
            "schema": "trainrig.pull/1",
            "name": run.identity.name,
            "run_id": run.run_id,
            "outputs": results.outputs_document(found),
            "checkpoint": str(checkpoint.manifest.id) if checkpoint else None,
            "skipped": skipped,
            "path": str(out),
        },
    )


def _from_nodes(run: RunContext, out: Path) -> dict[str, Path]:
    with run.opened() as context:
        up = [a for a in context.journal.attempts(run.run_id) if a.state is AttemptState.UP]
    if not up:
        return {}
    # Not closed: its connections are shared with the process that carries the run out, and what that is sending would
    # end with them. They end by themselves soon after their last use.
    ssh = ssh_tool.connect(run.rig.path, up[-1].node_list)
    return collect.collect_outputs(ssh, run.job, out, run.observe)


def _from_folder(run: RunContext, out: Path) -> dict[str, Path]:
    if not run.outputs.is_dir():
        return {}
    rsync.copy(run.outputs, out)
    return {p.name: p for p in sorted(out.iterdir()) if p.name != "checkpoint"}
