"""A run of the queue for real: one worker begins it and is killed, another one goes on, and the job never notices."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support.program import Program, last_document, left_of
from support.schemas import check
from trainrig.store.journal import Journal

EXAMPLES = Path(__file__).parents[2] / "examples"
STEPS = ("--set", "envs.STEPS=300", "--set", "envs.PACE_SECONDS=0.1")

pytestmark = [pytest.mark.docker, pytest.mark.terraform, pytest.mark.slow]


def test_a_run_survives_the_worker_that_began_it(isolated: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    program = Program(isolated, tmp_path)
    queued = program.run("run", "examples/hello.yaml", *STEPS, "--queue")
    assert queued.returncode == 0, queued.stderr
    shutil.rmtree(tmp_path / "examples")  # what the job needs has travelled
    waits = json.loads(program.run("status", "hello", "--format", "json").stdout)["rigs"][0]
    assert waits["notes"] == ["waits on the queue: for a trainrig worker"]

    first = program.start("worker")
    first.wait_for("carried out here")
    journal = Journal(isolated)
    run_id = journal.find("hello").run_id
    log = isolated / "rigs" / f"hello-{run_id}" / "logs" / "rank-0.log"
    first.wait_until(lambda: log.exists() and "step" in log.read_text(), what="the job trains")
    first.process.kill()
    first.wait()

    second = program.run("worker", "--until-empty", "--format", "json")
    assert second.returncode == 0, second.stderr
    assert "is dead, another goes on" in second.stderr
    document = last_document(second.stdout)
    check(document)
    assert (document["end"], document["exit_code"], document["clean"]) == ("done", 0, True)
    assert (document["recoveries"], len(document["attempts"])) == (0, 1)
    kinds = [h.kind for h in journal.happenings(run_id)]
    assert (kinds.count("job_started"), kinds.count("job_ended"), kinds.count("begun")) == (1, 1, 1)
    journal.close()
    assert "metrics" in document["outputs"]
    assert left_of(run_id) == []
