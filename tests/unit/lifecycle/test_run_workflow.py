from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support import rigs
from trainrig.errors import RigError
from trainrig.lifecycle import run_launch, run_next, run_rig, run_workflow
from trainrig.lifecycle.run_context import RunContext


@pytest.mark.parametrize(
    ("module", "step", "play"),
    [
        (run_rig, "bring_up", lambda run_id: run_workflow._bring_up(run_id, 1, None, None)),
        (run_launch, "launch", lambda run_id: run_workflow._launch(run_id, 1)),
        (run_rig, "collect_results", run_workflow._collect),
    ],
)
def test_a_cancel_is_heard_in_a_step_that_takes_long(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, step: str, play: Callable[[str], dict[str, Any]]
) -> None:
    run = rigs.run()
    monkeypatch.setattr(run_workflow, "CANCEL_LOOK_SECONDS", 0.01)

    def long_step(run: RunContext, *_: object) -> dict[str, Any]:
        assert not run.stop.wait(0.1)
        with run.opened() as context:
            context.journal.update_details(run.run_id, cancel=True)
        return {"heard": run.stop.wait(10)}

    monkeypatch.setattr(module, step, long_step)
    with run_workflow.serving(lambda _run_id: run, lambda _run, _how: None), run_workflow._played(run.run_id):
        assert play(run.run_id) == {"heard": True}


def test_what_nobody_expected_of_a_step_is_an_error_that_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, isolated: Path
) -> None:
    def broken(*_: object) -> dict[str, Any]:
        raise RecursionError("too deep")

    monkeypatch.setattr(run_next, "next_step", broken)
    monkeypatch.setattr(run_workflow, "_context", lambda _run_id: None)
    with pytest.raises(RigError, match="internal error: RecursionError: too deep") as caught:
        run_workflow._decide("t4amznw9", 1, {})
    assert type(caught.value) is RigError
    (log,) = (isolated / "logs").glob("crash-*.log")
    assert "in broken" in log.read_text()
