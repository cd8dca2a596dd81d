from __future__ import annotations

import pytest

from support import rigs
from support.jobs import a_job
from trainrig.lifecycle import run_workflow
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.environment import Environment
from trainrig.model.events import silent
from trainrig.model.placement import CatalogStamp, Placement


def test_a_cancel_is_heard_whatever_step_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunContext(
        identity=rigs.identity(),
        job=a_job(),
        environment=Environment(name="test", clouds=()),
        placement=Placement(
            job="hello",
            catalog=CatalogStamp(digest="d", captured_at=None, age_hours=None, offers=1),
            chosen=rigs.candidate(),
            fallbacks=(),
            rejections=(),
        ),
        observe=silent,
    )
    run.rig.create()
    monkeypatch.setattr(run_workflow, "CANCEL_LOOK_SECONDS", 0.01)
    with run.opened() as context:
        context.journal.intend(run.identity, details={})
        with run_workflow.serving(lambda _run_id: run, lambda _run, _how: None), run_workflow._played(run.run_id):
            assert not run.stop.wait(0.1)
            context.journal.update_details(run.run_id, cancel=True)
            assert run.stop.wait(10)
