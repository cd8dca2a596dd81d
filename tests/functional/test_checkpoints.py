"""Checkpoints for real: which one a run begins with, and what is saved when a node is taken away."""

from __future__ import annotations

import json
import re
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from support import object_store, state_backends
from support.program import Program, last_document, left_of
from support.schemas import check

pytestmark = [pytest.mark.docker, pytest.mark.terraform, pytest.mark.slow]

# The first time it saves and fails; given what it saved, it ends well.
HALVES = """
name: halves
checkpoints: {path: /checkpoints, interval: 1s}
outputs: {metrics: /outputs/metrics.json}
run: |
  if [ -f /checkpoints/last ]; then
    echo "{\\"first_half\\": \\"$(cat /checkpoints/last)\\"}" >/outputs/metrics.json
    exit 0
  fi
  echo "of $TRAINRIG_RUN_ID" >/checkpoints/.new && mv /checkpoints/.new /checkpoints/half
  ln -s half /checkpoints/last
  exit 3
"""

PATIENCE = 600  # seconds of one run, on a busy machine
EXAMPLES = Path(__file__).parents[2] / "examples"

# Saves when it is asked to and at no other time, and goes on.
COUNTS = """
name: counts
checkpoints: {path: /checkpoints, save_signal: SIGUSR1}
outputs: {metrics: /outputs/metrics.json}
run: |
  n=$(cat /checkpoints/n 2>/dev/null || echo 0)
  began=$n
  trap 'echo $n >/checkpoints/.n; mv /checkpoints/.n /checkpoints/n; echo "saved at $n"' USR1
  while [ "$n" -lt 60 ]; do
    n=$((n + 1))
    [ "$n" -eq 5 ] && echo five
    sleep 0.5 & wait $!
  done
  echo "{\\"began\\": $began, \\"ended\\": $n}" >/outputs/metrics.json
"""


@pytest.fixture
def program(isolated: Path, tmp_path: Path) -> Program:
    return Program(isolated, tmp_path)


def test_a_new_run_goes_on_with_a_checkpoint_of_an_earlier_one(program: Program) -> None:
    (program.workdir / "halves.yaml").write_text(HALVES)
    refused = program.run("run", "halves.yaml", "--set", "checkpoints.resume=from:nobody", "--format", "json")
    assert refused.returncode == 3
    assert "there is no rig 'nobody'" in refused.stderr

    first = program.run("run", "halves.yaml", "--format", "json")
    assert first.returncode == 9, first.stderr
    second = program.run("run", "halves.yaml", "--format", "json")
    assert second.returncode == 0, second.stderr
    begun, ended = last_document(first.stdout), last_document(second.stdout)
    check(ended)
    assert ended["metrics"]["first_half"] == f"of {begun['run_id']}"
    # A look that falls between the file and its link makes a checkpoint of its own, before that of the end.
    assert re.search(rf"resume from checkpoint 000001-00000\d of run {begun['run_id']}", second.stderr), second.stderr

    # The work is done, so another run of it begins with nothing, unless it names the run.
    third = program.run("run", "halves.yaml", "--set", f"checkpoints.resume=from:{begun['run_id']}", "--format", "json")
    assert third.returncode == 0, third.stderr
    assert last_document(third.stdout)["metrics"]["first_half"] == f"of {begun['run_id']}"
    assert left_of(begun["run_id"]) == left_of(ended["run_id"]) == []


def test_what_a_job_saves_at_the_notice_is_where_it_goes_on(program: Program) -> None:
    (program.workdir / "counts.yaml").write_text(COUNTS)
    started = program.start("run", "counts.yaml", "--format", "json")
    started.wait_for("five", seconds=PATIENCE)
    assert program.run("drill", "counts", "--yes").returncode == 0
    assert started.wait(seconds=PATIENCE) == 0, started.said
    document = last_document(started.said)
    (saved,) = [int(line.split()[-1]) for line in started.said.splitlines() if "saved at" in line]
    assert document["metrics"] == {"began": saved, "ended": 60}
    assert document["recoveries"] == 1
    assert "saved and stopped" in started.said
    assert left_of(document["run_id"]) == []


def test_a_job_that_saves_at_sigterm_loses_no_step_to_a_notice(program: Program) -> None:
    shutil.copytree(EXAMPLES, program.workdir / "examples")
    words = ("--set", "envs.STEPS=150", "--set", "envs.PACE_SECONDS=0.2", "--format", "json")
    started = program.start("run", "examples/hello.yaml", *words)
    started.wait_for("is safe", seconds=PATIENCE)
    assert program.run("drill", "hello", "--yes").returncode == 0
    assert started.wait(seconds=PATIENCE) == 0, started.said
    document = last_document(started.said)
    log = program.home / "rigs" / f"hello-{document['run_id']}" / "logs" / "rank-0.log"
    events = said(log)
    stopped = next(e["step"] for e in events if e["event"] == "stopped")
    assert [e["step"] for e in events if e["event"] == "start"] == [0, stopped]
    assert document["recoveries"] == 1
    assert left_of(document["run_id"]) == []


def said(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def test_a_bucket_brings_a_run_back_and_another_machine_goes_on_with_it(program: Program, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, program.workdir / "examples")
    store = ("--set", "checkpoints.store=s3://team-state/runs", "--format", "json")
    words = ("run", "examples/hello.yaml", "--set", "envs.STEPS=120", "--set", "envs.PACE_SECONDS=0.2", *store)
    (tmp_path / "s3").mkdir()

    credentials = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    nowhere = program.run(*words, timeout=60, AWS_ENDPOINT_URL_S3="http://127.0.0.1:9", **credentials)
    assert nowhere.returncode == 4, nowhere.stderr
    assert last_document(nowhere.stdout)["code"] == "store_failed"

    with state_backends.s3(tmp_path / "s3") as emulator:
        env: Any = dict(emulator.env)
        preempted = program.run(*words, "--drill", timeout=PATIENCE, **env)
        assert preempted.returncode == 0, preempted.stderr
        document = last_document(preempted.stdout)
        assert document["recoveries"] == 1
        check(document)
        lost, kept = document["attempts"]
        assert lost["lost_seconds"] == document["lost_seconds"] > 0  # it takes seconds to notice
        assert kept["lost_seconds"] == 0
        events = said(program.home / "rigs" / f"hello-{document['run_id']}" / "logs" / "rank-0.log")
        starts = [e["step"] for e in events if e["event"] == "start"]
        assert starts[0] == 0
        assert starts[1] > 0
        assert left_of(document["run_id"]) == []

        elsewhere = Program(tmp_path / "elsewhere", program.workdir)
        origin = ("--set", f"checkpoints.resume=from:{document['run_id']}")
        more = elsewhere.run(*words, "--set", "envs.STEPS=140", *origin, timeout=PATIENCE, **env)
        assert more.returncode == 0, more.stderr
        assert f"of run {document['run_id']}" in more.stderr
        further = last_document(more.stdout)
        events = said(elsewhere.home / "rigs" / f"hello-{further['run_id']}" / "logs" / "rank-0.log")
        assert [e["step"] for e in events if e["event"] == "start"] == [120]
        assert further["metrics"]["steps"] == 140


# Two nodes in step; each saves what it has done, and the sum at the end is that of an undisturbed run.
PAIR = """
name: pair
num_nodes: 2
s3_endpoint: {store}
secrets: {{AWS_ACCESS_KEY_ID: env:STORE_KEY, AWS_SECRET_ACCESS_KEY: env:STORE_SECRET}}
checkpoints: {{path: /checkpoints, interval: 1s, store: s3://team-state/runs}}
outputs: {{metrics: /outputs/metrics.json}}
run: |
  n=$(cat /checkpoints/n 2>/dev/null || echo 0)
  began=$n
  while [ "$n" -lt 40 ]; do
    n=$((n + 1))
    echo $n >/checkpoints/.n; mv /checkpoints/.n /checkpoints/n; ln -sfn n /checkpoints/last
    sleep 0.5
  done
  echo "{{\\"began\\": $began, \\"ended\\": $n}}" >/outputs/metrics.json
"""


def own_address() -> str:
    """This machine's, as its own nodes and it itself reach it; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
        except OSError:
            pytest.skip("this machine has no address of its own")
        return str(probe.getsockname()[0])


def test_nodes_carry_their_checkpoints_to_a_bucket_themselves(program: Program) -> None:
    with object_store.s3(own_address(), {"team-state": {}}) as store:
        (program.workdir / "pair.yaml").write_text(PAIR.format(store=store))
        keys: Any = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        job: Any = {"STORE_KEY": "test", "STORE_SECRET": "s3cret-of-the-job"}
        ran = program.run("run", "pair.yaml", "--drill", "--format", "json", timeout=PATIENCE, **keys, **job)
        assert ran.returncode == 0, ran.stderr
        document = last_document(ran.stdout)
        assert document["recoveries"] == 1
        assert document["metrics"]["began"] > 0
        assert document["metrics"]["ended"] == 40
        rig = program.home / "rigs" / f"pair-{document['run_id']}"
        assert not (rig / "staging").exists()
        assert not (rig / "fetched").exists()
        assert left_of(document["run_id"]) == []

        pulled = program.run("pull", "pair", "--out", "found", **keys)
        assert pulled.returncode == 0, pulled.stderr
        found = program.workdir / "found/checkpoint"
        assert {p.relative_to(found).as_posix(): p.read_text() for p in found.rglob("last")} == {
            "rank-0/last": "40\n",
            "rank-1/last": "40\n",
        }
