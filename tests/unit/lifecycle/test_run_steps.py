"""Steps of a run that was destroyed while nobody carried it out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import rigs
from support.jobs import a_job
from trainrig.lifecycle import run_launch, run_next, run_watch
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.environment import Environment
from trainrig.model.events import silent
from trainrig.model.placement import CatalogStamp, Placement
from trainrig.model.rig import RigState
from trainrig.store.journal import Journal


@pytest.mark.parametrize("step", [run_launch.launch, run_watch.watch_job])
def test_a_run_whose_rig_was_destroyed_ends_as_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: Callable[[RunContext, int], dict[str, Any]]
) -> None:
    monkeypatch.setenv("TRAINRIG_HOME", str(tmp_path))
    stamp = CatalogStamp(digest="d", captured_at=None, age_hours=None, offers=1)
    run = RunContext(
        identity=rigs.identity(),
        job=a_job(),
        environment=Environment(name="test", clouds=()),
        placement=Placement(job="hello", catalog=stamp, chosen=rigs.candidate(), fallbacks=(), rejections=()),
        observe=silent,
    )
    journal = Journal(tmp_path)
    journal.intend(run.identity, details={})
    journal.set_state(run.run_id, RigState.DESTROYED, clean=True)
    journal.close()
    seen = step(run, 1)
    assert seen["kind"] == "interrupted"
    assert run_next.next_step(run, 1, seen)["end"] == {"kind": "cancelled", "alive": False}
