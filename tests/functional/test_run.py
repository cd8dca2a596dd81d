"""The main job for real: Terraform, SSH, Ansible, a container, checkpoints, a preemption, and nothing left."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from support.program import Program, last_document, left_of, wait_until
from support.schemas import check
from trainrig.store.journal import Journal

EXAMPLES = Path(__file__).parents[2] / "examples"
STEPS = ("--set", "envs.STEPS=120", "--set", "envs.PACE_SECONDS=0.2")

pytestmark = [pytest.mark.docker, pytest.mark.terraform, pytest.mark.slow]


@pytest.fixture
def program(isolated: Path, tmp_path: Path) -> Program:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    return Program(isolated, tmp_path)


def job(program: Program, text: str, name: str = "job") -> str:
    (program.workdir / f"{name}.yaml").write_text(f"name: {name}\n{text}")
    return f"{name}.yaml"


def run_id_of(program: Program, name: str) -> str:
    journal = Journal(program.home)
    try:
        return journal.find(name).run_id
    finally:
        journal.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The demo run once, in the background, as other verbs see it; its last document."""
    workdir = tmp_path_factory.mktemp("undisturbed")
    shutil.copytree(EXAMPLES, workdir / "examples")
    program = Program(workdir / "home", workdir)
    assert program.run("run", "examples/hello.yaml", *STEPS, "-d").returncode == 0

    busy = program.run("run", "examples/hello.yaml", "--format", "json")
    assert busy.returncode == 11
    assert last_document(busy.stdout)["code"] == "rig_busy"

    log = program.home / "rigs" / f"hello-{run_id_of(program, 'hello')}" / "logs" / "rank-0.log"
    wait_until(log.exists, seconds=150, what="the job writes")
    (rig,) = json.loads(program.run("status", "hello", "--format", "json").stdout)["rigs"]
    assert rig["state"] == "running"
    assert [n["rank"] for n in rig["nodes"]] == [0]

    followed = program.run("logs", "hello", "-f")
    assert json.loads(followed.stdout.splitlines()[-1])["event"] == "done"
    (rig,) = json.loads(program.run("status", "hello", "--format", "json").stdout)["rigs"]
    assert rig["state"] == "destroyed"
    assert left_of(rig["run_id"]) == []
    pulled = program.run("pull", "hello", "-o", "got", "--format", "json")
    assert pulled.returncode == 0, pulled.stderr
    assert (workdir / "got" / "metrics" / "metrics.json").exists() or (workdir / "got" / "metrics.json").exists()
    document: dict[str, Any] = json.loads(pulled.stdout)
    check(document)
    return document


def test_a_preempted_run_whose_supervisor_is_killed_ends_as_if_nothing_had_happened(
    program: Program, undisturbed: dict[str, Any]
) -> None:
    started = program.start("run", "examples/hello.yaml", *STEPS, "--drill", "--format", "json")
    started.wait_for("preempted on purpose")
    started.wait_for("try local", seconds=60)
    started.process.kill()
    started.wait()
    status = program.run("status", "hello", "--format", "json")
    assert json.loads(status.stdout)["rigs"][0]["state"] in {"running", "recovering", "applying"}

    resumed = program.run("resume", "hello", "--format", "json")
    assert resumed.returncode == 0, resumed.stderr
    document = last_document(resumed.stdout)
    check(document)
    assert document["recoveries"] == 1
    assert document["metrics"] == undisturbed["outputs"]["metrics"] or document["outputs"]["metrics"]
    assert document["clean"]
    assert left_of(document["run_id"]) == []


def test_the_job_s_own_failure_is_9_with_its_code_and_last_words(program: Program) -> None:
    script = "echo 1 > /checkpoints/one; sleep 8; rm /checkpoints/one; echo 2 > /checkpoints/two"
    path = job(
        program,
        f"checkpoints: {{path: /checkpoints, interval: 1s}}\nrun: |\n  {script}\n  echo last words >&2; exit 3\n",
    )
    done = program.run("run", path, "--format", "json")
    assert done.returncode == 9
    document = last_document(done.stdout)
    assert (document["schema"], document["exit_code"], document["clean"]) == ("trainrig.run/1", 3, True)
    assert "last words" in document["error"]["message"]
    assert "last words" in done.stderr
    assert "last words" in program.run("logs", "job").stdout
    committed = sorted((program.home / "rigs" / f"job-{document['run_id']}" / "checkpoints").glob("*-*/rank-0/*"))
    assert [p.name for p in committed] == ["one", "two"]  # what the job deleted is not in the next checkpoint
    assert left_of(document["run_id"]) == []


def test_a_job_that_hangs_is_stopped_by_its_guard_and_what_it_made_is_kept(program: Program) -> None:
    script = "|\n  trap 'echo last words; exit 3' TERM\n  echo begun; echo made > /outputs/it; sleep 600 & wait"
    guards = "guards: {silence: {after: 8s, do: stop}, disk: {above: 1, do: checkpoint}}\n"
    path = job(program, f"{guards}outputs: {{model: /outputs}}\nrun: {script}\n")
    done = program.run("run", path, "--format", "json")
    assert done.returncode == 10, done.stderr
    document = last_document(done.stdout)
    check(document)
    assert (document["end"], document["limit"], document["clean"]) == ("policy", "silence", True)
    assert "wrote nothing for" in document["error"]["message"]
    assert "guard disk: a node's disk is" in done.stderr
    assert program.run("logs", "job").stdout == "begun\nlast words\n"
    assert [p.read_text() for p in Path(document["outputs_path"]).rglob("it")] == ["made\n"]
    assert left_of(document["run_id"]) == []


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_with_130_and_nothing_left(program: Program, sign: signal.Signals) -> None:
    path = job(program, "run: sleep 300\n")
    started = program.start("run", path, "--format", "json")
    started.wait_for("try local" if sign is signal.SIGINT else "SSH is up")
    os.kill(started.process.pid, sign)
    assert started.wait() == 130, started.said
    assert left_of(run_id_of(program, "job")) == []
    assert program.run("destroy", "job", "--format", "json").returncode == 0


def test_a_run_can_be_cancelled_from_elsewhere(program: Program) -> None:
    path = job(program, "run: |\n  echo started; sleep 300\n")
    started = program.start("run", path, "--format", "json")
    started.wait_for("started")
    assert program.run("cancel", "job").returncode == 0
    assert started.wait() == 130
    assert left_of(run_id_of(program, "job")) == []


def test_an_image_that_nobody_has_is_said_once_and_cleaned_up(program: Program) -> None:
    path = job(program, "image: trainrig.invalid/nothing:1@sha256:" + "0" * 64 + "\nrun: 'true'\n")
    done = program.run("run", path, "--format", "json")
    assert done.returncode == 8, done.stderr
    document = last_document(done.stdout)
    assert len(document["attempts"]) == 1
    assert "trainrig.invalid/nothing" in document["error"]["message"]
    assert left_of(document["run_id"]) == []


def test_without_docker_it_says_so_and_nothing_is_written_down_as_existing(program: Program) -> None:
    path = job(program, "run: 'true'\n")
    done = program.run("run", path, "--format", "json", DOCKER_HOST="unix:///nonexistent/docker.sock")
    assert done.returncode == 4, done.stderr
    assert "Docker" in done.stderr
    assert json.loads(program.run("status", "--format", "json").stdout)["rigs"] == []


def test_an_exit_code_that_the_job_names_starts_it_again_on_the_same_nodes(program: Program) -> None:
    path = job(
        program,
        "recovery: {on_exit_codes: [3]}\ncheckpoints: {path: /checkpoints, interval: 1s}\n"
        "run: test -f /checkpoints/tried || { touch /checkpoints/tried; exit 3; }\n",
    )
    done = program.run("run", path, "--format", "json")
    assert done.returncode == 0, done.stderr
    document = last_document(done.stdout)
    assert (document["recoveries"], len(document["attempts"])) == (1, 1)
    assert left_of(document["run_id"]) == []


def test_a_timeout_stops_the_run_and_leaves_nothing(program: Program) -> None:
    path = job(program, "run: sleep 300\n")
    done = program.run("run", path, "--timeout", "20s", "--format", "json")
    assert done.returncode == 10, done.stderr
    document = last_document(done.stdout)
    assert document["error"]["code"] == "stopped_by_policy"
    assert left_of(document["run_id"]) == []
