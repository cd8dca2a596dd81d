from __future__ import annotations

from pathlib import Path

import pytest

from support import rigs
from trainrig.errors import RigUnknown
from trainrig.lifecycle import run_context
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.events import silent
from trainrig.model.job import Checkpoints, Job, ResourceOption
from trainrig.store.journal import Journal

RUN = RunContext(
    identity=rigs.identity(),
    job=Job(
        name="finetune",
        options=(ResourceOption(cloud="aws"),),
        checkpoints=Checkpoints(path="/ckpt"),
        secrets={"TOKEN": "value:planted-secret", "OTHER": "file:/run/secrets/other"},
    ),
    environment=Environment(name="test", clouds=(CloudPolicy(cloud="aws", regions=("us-east-1",)),)),
    placement=rigs.placement(),
    observe=silent,
)


def write_down(home: Path) -> None:
    journal = Journal(home)
    journal.intend(RUN.identity, details={})
    journal.close()


def test_another_process_finds_the_run_as_it_was_but_for_secrets(isolated: Path) -> None:
    write_down(isolated)
    run_context.save(RUN)
    found = run_context.load(isolated, "finetune", silent)
    assert (found.identity, found.environment, found.placement) == (RUN.identity, RUN.environment, RUN.placement)
    assert found.job.options == RUN.job.options
    assert found.job.checkpoints == RUN.job.checkpoints
    assert found.job.secrets == {"TOKEN": "env:TOKEN", "OTHER": "file:/run/secrets/other"}
    written = [p for p in RUN.rig.path.rglob("*") if p.is_file()]
    assert written
    assert all("planted-secret" not in p.read_text() for p in written)
    assert {p.stat().st_mode & 0o777 for p in written} == {0o600}


def test_a_rig_without_its_folder_cannot_be_gone_on_with(isolated: Path) -> None:
    write_down(isolated)
    with pytest.raises(RigUnknown, match="its folder is gone"):
        run_context.load(isolated, "finetune", silent)
