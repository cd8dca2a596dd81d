from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.jobs import a_job, a_launch, a_node, an_offer
from trainrig.model.node import Node
from trainrig.render import launch, mpi
from trainrig.render.launch import Launch

Begin = Callable[..., "subprocess.Popen[str]"]
KEYS = {rank: mpi.Key(private=f"private {rank}\n", public=f"ssh-ed25519 HOST{rank}") for rank in range(3)}
HEAD_KEY = mpi.Key(private="private head\n", public="ssh-ed25519 HEAD")
# Starts as many ranks as it is told to, tells how it was called, and ends with the first code that is not 0; like the
# real ones it kills the rest.
MPIRUN = """#!/usr/bin/env python3
import os, subprocess, sys, time
open("calls", "a").write(" ".join(sys.argv[1:]) + "\\n")
names = [{**os.environ, "R": str(r)} for r in range(int(sys.argv[2]))]
ranks = [subprocess.Popen(sys.argv[5:], env=env, start_new_session=True) for env in names]
while True:
    codes = [rank.poll() for rank in ranks]
    if any(codes) and sys.argv[0].endswith("mpirun"):
        for rank in ranks:
            try:
                os.killpg(rank.pid, 9)
            except ProcessLookupError:
                pass
        sys.exit(next(code for code in codes if code))
    if None not in codes:
        sys.exit(0)
    time.sleep(0.02)
"""


def gang(nodes: int, *, gpus: int = 0, run: str = "true", **job: object) -> Launch:
    return a_launch(nodes, job=a_job(launch="mpi", nodes=nodes, run=run, **job), offer=an_offer(gpu_count=gpus))


@pytest.fixture
def begin(tmp_path: Path) -> Begin:
    """Starts the container's entry point of a node, as docker does: the leader of its group."""

    def start(start: Launch, node: Node, *, files: dict[str, str] | None = None) -> subprocess.Popen[str]:
        for folder in ("gang/asked", "gang/codes", "gang/ranks"):
            (tmp_path / folder).mkdir(parents=True)
        for name, text in {**launch.scripts(start, node), "mpirun": MPIRUN, **(files or {})}.items():
            text = text.replace(mpi.GANG, f"{tmp_path}/gang").replace("/trainrig/", f"{tmp_path}/")
            (tmp_path / name).write_text(text.replace("/tmp/trainrig-reach", f"{tmp_path}/agent"))
            (tmp_path / name).chmod(0o755)
        env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        words = ["sh", str(tmp_path / "job.sh")]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            words, cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )

    return start


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, _ = process.communicate(timeout=60)
    return process.returncode, out


def test_one_node_has_a_rank_a_gpu_and_needs_no_way_to_another(tmp_path: Path, begin: Begin) -> None:
    one = gang(1, gpus=3, run="echo hello")
    assert ended(begin(one, one.nodes[0])) == (0, "hello\n" * 3)
    assert (tmp_path / "calls").read_text().startswith("-np 3 --host 10.0.0.1:3 /bin/sh ")
    assert "reach" not in launch.scripts(one, one.nodes[0])


def test_a_rank_that_fails_is_the_code_of_the_job(begin: Begin) -> None:
    one = gang(1, gpus=2, run='[ "$R" = 1 ] || sleep 60; exit 7')
    assert ended(begin(one, one.nodes[0]))[0] == 7


def test_a_failed_rank_ends_all_where_mpirun_does_not_care(begin: Begin) -> None:
    one = gang(1, gpus=2, run='[ "$R" = 1 ] || sleep 4; exit 7')
    soon = launch.scripts(one, one.nodes[0])["gang.sh"].replace("patience=20", "patience=2")
    files = {"mpirun": MPIRUN.replace('endswith("mpirun")', 'endswith("other")'), "gang.sh": soon}
    assert ended(begin(one, one.nodes[0], files=files))[0] == 7


def test_all_ranks_may_save_though_one_of_them_is_done_at_once(tmp_path: Path, begin: Begin) -> None:
    saves = "trap 'sleep $R$R; echo saved $R; exit 143' TERM; touch up-$R; while :; do sleep 0.1; done"
    one = gang(1, gpus=2, run=saves)
    process = begin(one, one.nodes[0])
    deadline = time.monotonic() + 30
    while len(list(tmp_path.glob("up-*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGTERM)
    code, out = ended(process)
    assert (code, sorted(out.split("\n"))) == (143, ["", "saved 0", "saved 1"])


def test_the_head_waits_for_the_others_and_tells_them_how_it_ended(tmp_path: Path, begin: Begin) -> None:
    three = gang(3, run="exit 5")
    asked = f'#!/bin/sh\necho "$*" >>{tmp_path}/asked-for\n[ "$(grep -c ready {tmp_path}/asked-for)" -gt 3 ]\n'
    assert ended(begin(three, three.nodes[0], files={"reach": asked}))[0] == 5
    lines = (tmp_path / "asked-for").read_text().splitlines()
    assert [line.split()[0] for line in lines if "ready" in line] == ["10.0.0.2"] * 4 + ["10.0.0.3"]
    told = sorted(line.split(" >")[0] for line in lines if "/end" in line)
    assert told == ["10.0.0.2 echo 5", "10.0.0.3 echo 5"]
    assert "-np 3 --host 10.0.0.1:1,10.0.0.2:1,10.0.0.3:1" in (tmp_path / "calls").read_text()


def test_another_node_waits_and_ends_with_the_head(tmp_path: Path, begin: Begin) -> None:
    three = gang(3)
    process = begin(three, three.nodes[1])
    deadline = time.monotonic() + 30
    while not (tmp_path / "gang/ready").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    (tmp_path / "gang/end").write_text("9\n")
    assert ended(process)[0] == 9


def test_an_image_without_mpirun_is_told_what_it_needs(begin: Begin) -> None:
    one = gang(1)
    process = begin(one, one.nodes[0], files={"head.sh": "", "gang.sh": launch.scripts(one, one.nodes[0])["gang.sh"]
                    + 'command() { [ "$2" != mpirun ]; }\n'})  # fmt: skip
    _, err = process.communicate(timeout=60)
    assert process.returncode == 127
    assert "needs mpirun on the image's PATH; take an image with Open MPI" in err


def test_the_other_nodes_variables_are_their_own_though_hydra_brings_those_of_the_head() -> None:
    three = gang(3, env={"PET_NODE_RANK": "9"})
    assert "export TRAINRIG_RANK=2\n" in launch.scripts(three, three.nodes[2])["rank.sh"]
    assert "PET_NODE_RANK" not in launch.scripts(three, three.nodes[2])["rank.sh"]


def test_a_job_that_is_no_gang_has_neither_variables_nor_a_folder_of_it() -> None:
    plain = a_launch(2)
    assert not [n for n in launch.environment(plain, plain.nodes[0]) if n.startswith(("OMPI", "PRTE", "HYDRA"))]
    assert mpi.GANG not in [b.target for b in launch.binds(plain.job)]


def test_the_smallest_network_of_all_nodes_keeps_docker0_out() -> None:
    nodes = (a_node(0), a_node(1, private_ip="10.0.1.7"))
    assert mpi.environment(a_job(launch="mpi"), nodes)["OMPI_MCA_btl_tcp_if_include"] == "10.0.0.0/23"


def test_a_key_opens_the_container_alone_from_the_head_alone() -> None:
    nodes = gang(3).nodes
    head, other, _ = (mpi.private_files(nodes, n, head_key=HEAD_KEY, host_keys=KEYS) for n in nodes)
    assert head["known_hosts"].splitlines() == [
        "[10.0.0.2]:29522 ssh-ed25519 HOST1",
        "[10.0.0.3]:29522 ssh-ed25519 HOST2",
    ]
    assert other["authorized_keys"] == (
        'restrict,from="10.0.0.1",command="/usr/local/lib/trainrig/mpi-enter" ssh-ed25519 HEAD\n'
    )
    assert other["host_key"] == "private 1\n"
    assert "private" not in head["known_hosts"] + other["authorized_keys"] + other["sshd_config"]
    assert "ListenAddress 10.0.0.2\n" in other["sshd_config"]
