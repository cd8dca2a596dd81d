from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support import rigs
from trainrig.errors import SpecInvalid
from trainrig.lifecycle import run_context
from trainrig.lifecycle.context import Context, opened
from trainrig.lifecycle.origin import origin_of
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.events import silent
from trainrig.model.job import Checkpoints, Job, ResourceOption
from trainrig.model.rig import RigState

ENVIRONMENT = Environment(name="test", clouds=(CloudPolicy(cloud="aws"),))
PLACEMENT = rigs.placement()


@pytest.fixture
def context() -> Iterator[Context]:
    with opened(ENVIRONMENT) as found:
        yield found


def job(resume: str, name: str = "finetune") -> Job:
    return Job(name=name, options=(ResourceOption(),), checkpoints=Checkpoints(path="/checkpoints", resume=resume))


def ran(
    context: Context,
    run_id: str,
    *,
    files: Path | None = None,
    end: str = "lost",
    collected: bool = True,
    resume: str = "resume",
    name: str = "finetune",
) -> RunContext:
    """An earlier run; `files` are its only checkpoint."""
    identity = replace(rigs.identity(run_id=run_id), name=name)
    run = RunContext(
        identity=identity, job=job(resume, name), environment=ENVIRONMENT, placement=PLACEMENT, observe=silent
    )
    context.journal.intend(identity, details={"verb": "run", "job": name})
    run_context.save(run)
    if files is not None:
        run.checkpoints.commit(files, run_id=run_id, generation=1, now=datetime(2026, 1, 1, tzinfo=UTC))
    context.journal.append(run_id, "job_ended", {"kind": end})
    if collected:
        context.journal.append(run_id, "collected", {})
    context.journal.set_state(run_id, RigState.DESTROYED, clean=True)
    # rigs of one second have no order
    context.journal.db.execute("UPDATE rigs SET created_at = rowid WHERE run_id = ?", (run_id,))
    return run


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "model.bin").write_text("weights")
    return tmp_path / "files"


def test_resume_goes_on_from_the_last_run_that_has_a_checkpoint(context: Context, files: Path) -> None:
    assert origin_of(context, job("resume"), ENVIRONMENT) is None
    ran(context, "first111", files=files)
    ran(context, "second11", files=files)
    ran(context, "third111")  # it never came to a checkpoint
    ran(context, "other111", files=files, name="other")
    assert origin_of(context, job("resume"), ENVIRONMENT) == "second11"


def test_a_run_that_has_done_its_work_is_not_gone_on_with(context: Context, files: Path) -> None:
    ran(context, "first111", files=files)
    ran(context, "second11", files=files, end="done")
    assert origin_of(context, job("resume"), ENVIRONMENT) is None


def test_a_run_whose_outputs_went_with_its_nodes_is_gone_on_with(context: Context, files: Path) -> None:
    ran(context, "first111", files=files, end="done", collected=False)
    assert origin_of(context, job("resume"), ENVIRONMENT) == "first111"


def test_a_fresh_run_cuts_off_what_came_before_it(context: Context, files: Path) -> None:
    ran(context, "first111", files=files)
    ran(context, "second11", resume="fresh")
    assert origin_of(context, job("resume"), ENVIRONMENT) is None


def test_fresh_and_a_job_without_checkpoints_begin_with_nothing(context: Context, files: Path) -> None:
    ran(context, "first111", files=files)
    assert origin_of(context, job("fresh"), ENVIRONMENT) is None
    assert origin_of(context, replace(job("resume"), checkpoints=None), ENVIRONMENT) is None


def test_from_names_a_run_by_id_or_by_name_also_one_that_is_done(context: Context, files: Path) -> None:
    ran(context, "first111", files=files, name="pretrain", end="done")
    assert origin_of(context, job("from:first111"), ENVIRONMENT) == "first111"
    assert origin_of(context, job("from:pretrain"), ENVIRONMENT) == "first111"


def test_from_a_run_that_is_not_there_or_has_no_whole_checkpoint(context: Context, files: Path) -> None:
    with pytest.raises(SpecInvalid, match=r"checkpoints\.resume: from: nobody: there is no rig 'nobody'"):
        origin_of(context, job("from:nobody"), ENVIRONMENT)
    ran(context, "empty111")
    with pytest.raises(SpecInvalid, match="run empty111 has no whole checkpoint: it committed none"):
        origin_of(context, job("from:empty111"), ENVIRONMENT)
    run = ran(context, "torn1111", files=files)
    (run.rig.path / "checkpoints" / "000001-000001" / "model.bin").write_text("evil")
    with pytest.raises(SpecInvalid, match=r"model\.bin does not match its sha256"):
        origin_of(context, job("from:torn1111"), ENVIRONMENT)
