"""A run of the queue for real: one worker begins it and is killed, another one goes on, and the job never notices."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timedelta
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


def test_one_worker_carries_out_several_runs_at_once(isolated: Path, tmp_path: Path) -> None:
    program = Program(isolated, tmp_path)
    for name in ("one", "two", "bad"):
        code = 3 if name == "bad" else 0
        job = f"name: {name}\nresources: {{cpus: 1+}}\nrun: echo {name} > /outputs/name; sleep 5; exit {code}\n"
        (tmp_path / f"{name}.yaml").write_text(job)
        assert program.run("run", f"{name}.yaml", "--queue").returncode == 0
    worker = program.run("worker", "--until-empty", "--runs", "3", "--format", "json", timeout=400)
    assert worker.returncode == 0, worker.stderr
    documents = {d["name"]: d for d in map(json.loads, worker.stdout.splitlines())}
    assert {n: (d["end"], d["exit_code"], d["clean"]) for n, d in documents.items()} == {
        "one": ("done", 0, True),
        "two": ("done", 0, True),
        "bad": ("failed", 3, True),
    }
    for name, document in documents.items():
        check(document)
        assert [p.read_text() for p in Path(document["outputs_path"]).rglob("name")] == [f"{name}\n"]
        assert left_of(document["run_id"]) == []
    attempts = [a for d in documents.values() for a in d["attempts"]]
    begun = [datetime.fromisoformat(a["started_at"]) for a in attempts]
    ended = [b + timedelta(seconds=a["seconds"]) for a, b in zip(attempts, begun, strict=True)]
    assert max(begun) < min(ended)  # at once, not one after the other
