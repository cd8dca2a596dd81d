from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.jobs import a_job, a_launch, a_node, an_offer
from trainrig.model.job import Checkpoints, Mount
from trainrig.render import launch


def test_no_secret_is_on_the_command_line() -> None:
    job = a_job(env={"A": "plain"}, secrets={"TOKEN": "s3cret"})
    assert not [a for a in launch.docker_arguments(job, an_offer(), "train:1") if "s3cret" in a or "plain" in a]


@pytest.mark.parametrize(("gpus", "expected"), [(0, False), (8, True)])
def test_gpus_are_passed_only_where_there_are_any(gpus: int, expected: bool) -> None:
    assert ("--gpus=all" in launch.docker_arguments(a_job(), an_offer(gpu_count=gpus), "train:1")) is expected


def test_half_of_the_memory_is_shared_memory() -> None:
    assert "--shm-size=8g" in launch.docker_arguments(a_job(), an_offer(memory_gib=16), "train:1")


@pytest.mark.parametrize(("start_in", "workdir"), [(None, "/workdir"), ("/persistent", "/persistent")])
def test_a_job_starts_in_its_workdir_unless_it_says_otherwise(start_in: str | None, workdir: str) -> None:
    assert f"--workdir={workdir}" in launch.docker_arguments(a_job(start_in=start_in), an_offer(), "train:1")


def test_a_jobs_own_options_come_after_ours_and_before_the_image() -> None:
    arguments = launch.docker_arguments(a_job(container_options=("--shm-size=64g",)), an_offer(), "train:1")
    assert arguments[-3:] == ["--shm-size=64g", "train:1", "/trainrig/job.sh"]


def test_a_mount_of_the_job_replaces_ours_at_the_same_path() -> None:
    job = a_job(mounts=(Mount(target="/outputs", source="./mine", read_only=True),))
    targets = [b for b in launch.binds(job) if b.target == "/outputs"]
    assert [(str(b.source), b.read_only) for b in targets] == [("/srv/trainrig/mounts/0", True)]


def test_outer_paths_are_bound_before_the_paths_inside_them() -> None:
    job = a_job(checkpoints=Checkpoints(path="/workdir/runs/ckpt"))
    targets = [b.target for b in launch.binds(job)]
    assert targets.index("/workdir") < targets.index("/workdir/runs/ckpt")


@pytest.mark.parametrize(
    ("path", "on_node"),
    [
        ("/outputs/m.json", "/srv/trainrig/outputs/m.json"),
        ("results/m.json", "/srv/trainrig/workdir/results/m.json"),
        ("/checkpoints/last", "/srv/trainrig/checkpoints/last"),
        ("/tmp/m.json", None),
    ],
)
def test_an_output_is_found_on_the_node_or_only_in_the_container(path: str, on_node: str | None) -> None:
    job = a_job(outputs={"it": path})
    found = launch.node_path(job, path)
    assert (str(found) if found else None) == on_node


def test_every_rank_is_told_the_same_rendezvous_and_its_own_rank() -> None:
    two = a_launch(2, offer=an_offer(gpu_count=8))
    first, second = (launch.environment(two, node) for node in two.nodes)
    assert (first["MASTER_ADDR"], second["MASTER_ADDR"]) == ("10.0.0.1", "10.0.0.1")
    assert (first["TRAINRIG_RANK"], second["TRAINRIG_RANK"]) == ("0", "1")
    assert second["SKYPILOT_NODE_IPS"] == "10.0.0.1\n10.0.0.2"
    assert second["PET_NPROC_PER_NODE"] == "8"


def test_the_jobs_own_variables_win() -> None:
    env = launch.environment(a_launch(job=a_job(env={"MASTER_PORT": "1234"})), a_node())
    assert env["MASTER_PORT"] == "1234"


def test_values_with_newlines_and_backslashes_reach_the_job_unchanged(tmp_path: Path) -> None:
    """Runs the real entry point with what docker would make of the env file."""
    wanted = 'a\\b\n "c" $d %s \\n\n'
    lines = launch.env_file({"MULTI": wanted, "PLAIN": "x y"}).splitlines()
    env = dict(line.split("=", 1) for line in lines)
    assert env["TRAINRIG_ESCAPED"] == "MULTI"
    files = launch.scripts(a_launch(job=a_job(run='printf %s "$MULTI"; printf %s "$PLAIN"')), a_node())
    for name, text in files.items():
        (tmp_path / name).write_text(text.replace("/trainrig/", f"{tmp_path}/"))
    done = subprocess.run(
        ["sh", tmp_path / "job.sh"], env={"PATH": "/usr/bin:/bin", **env}, capture_output=True, text=True, check=True
    )
    assert done.stdout == wanted + "x y"


def test_a_failed_setup_is_the_jobs_exit_code_and_run_is_not_tried(tmp_path: Path) -> None:
    files = launch.scripts(a_launch(job=a_job(setup="exit 7", run="echo ran")), a_node())
    for name, text in files.items():
        (tmp_path / name).write_text(text.replace("/trainrig/", f"{tmp_path}/"))
    done = subprocess.run(["sh", tmp_path / "job.sh"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "")
    assert "setup failed with exit code 7" in done.stderr


def test_ray_runs_the_job_on_its_head_and_ends_with_the_jobs_code(tmp_path: Path) -> None:
    two = a_launch(2, job=a_job(launch="ray", run="exit 3"))
    (tmp_path / "ray").write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n')
    (tmp_path / "ray").chmod(0o755)
    for name, text in launch.scripts(two, two.nodes[0]).items():
        (tmp_path / name).write_text(text.replace("/trainrig/", f"{tmp_path}/"))
    done = subprocess.run(["sh", tmp_path / "job.sh"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=False)
    assert done.returncode == 3
    assert (tmp_path / "calls").read_text().splitlines() == ["start --head --port=6379", "stop"]


def test_a_ray_worker_joins_the_head_and_stays_as_long_as_it_lives(tmp_path: Path) -> None:
    two = a_launch(2, job=a_job(launch="ray"))
    answers = 'case "$1" in start) [ -e here ] || { touch here; exit 1; } ;; status) exit 1 ;; esac'
    (tmp_path / "ray").write_text(f"#!/bin/sh\necho $* >> calls\n{answers}\n")
    (tmp_path / "ray").chmod(0o755)
    (tmp_path / "sleep").symlink_to("/bin/true")
    command = launch.scripts(two, two.nodes[1])["command"]
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(["sh", "-c", command], env=env, cwd=tmp_path, check=True)
    join = "start --address=10.0.0.1:6379"
    assert (tmp_path / "calls").read_text().splitlines() == [join, join, "status --address=10.0.0.1:6379"]
