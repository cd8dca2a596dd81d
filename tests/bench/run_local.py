"""What `trainrig run` adds to its bare parts on the local cloud, as ratios in one run.

    python tests/bench/run_local.py [ROUNDS]

prints the table that docs/performance.md quotes, and exits with 1 when a limit is passed. The bare parts are the same
node, the same roles and the same image, by the tools' own commands: docker create and start, ssh until it answers,
ansible-playbook, docker save | ssh docker load, ssh docker run, docker rm. All nodes share this machine's cores, so
the bare parts are also timed on four nodes at once, by one ansible-playbook: what these cost above
one node is the machine's. A run and a bare round take turns, so that a busy machine is busy for both; the least of each
is taken. Everything is warm: images are built before.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from trainrig import assets
from trainrig.clouds.local import built_images, computed_offers, prepare
from trainrig.localcloud import hostkey, rootfs
from trainrig.model.events import silent
from trainrig.model.job import Job, ResourceOption
from trainrig.model.node import Node
from trainrig.model.offer import Offer
from trainrig.render import inventory, ssh_config
from trainrig.tools import proc

LIMIT_ONE, LIMIT_FOUR = 1.3, 1.5
JOB = "name: bench\nresources: {cpus: 1+}\nnum_nodes: %d\nrun: 'true'\n"
FLAGS = (
    "--tmpfs=/run",
    "--tmpfs=/run/lock",
    "--volume=/sys/fs/cgroup:/sys/fs/cgroup:rw",
    "--cgroupns=host",
    "--stop-signal=SIGRTMIN+3",
    "--volume=/var/lib/docker",
    "--cap-add=SYS_ADMIN",
    "--cap-add=NET_ADMIN",
    "--security-opt=seccomp=unconfined",
    "--publish=127.0.0.1::22",
)


def sh(*argv: str, stdin: bytes | None = None) -> str:
    return subprocess.run(argv, input=stdin, check=True, capture_output=True).stdout.decode().strip()


@contextmanager
def timed(into: dict[str, float], part: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    into[part] = time.perf_counter() - began


def trainrig_run(directory: Path, nodes: int) -> float:
    job = directory / f"job{nodes}.yaml"
    job.write_text(JOB % nodes)
    env = {**os.environ, "TRAINRIG_HOME": str(directory / "home")}
    argv = [sys.executable, "-m", "trainrig", "run", str(job), "--quiet"]
    began = time.perf_counter()
    subprocess.run(argv, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def smallest_offer() -> Offer:
    return next(computed_offers.offers(proc.run, datetime.now(UTC)))


def bare_node(directory: Path, index: int, took: dict[str, float]) -> Node:
    """One node, up to the moment when ssh answers; `directory` has the key."""
    name = f"trainrig-bench-{os.getpid()}-{index}"
    offer, key = smallest_offer(), hostkey.generate()
    public = (directory / "id_ed25519.pub").read_text().strip()
    files = rootfs.node_files(public, key, datetime.now(UTC) + timedelta(hours=1))
    with timed(took, "docker create, start"):
        sh("docker", "network", "create", name)
        limits = [f"--cpus={offer.vcpus:g}", f"--memory={int(offer.memory_gib * 1024)}m"]
        argv = ["docker", "create", f"--name={name}", f"--hostname={name}", f"--network={name}", *limits, *FLAGS]
        sh(*argv, built_images.machine(), "/sbin/init")
        sh("docker", "cp", "-", f"{name}:/", stdin=files)
        sh("docker", "start", name)
    port = int(sh("docker", "port", name, "22/tcp").rpartition(":")[2])
    node = Node(
        rank=index, name=name, public_ip="127.0.0.1", private_ip="127.0.0.1", instance_id=name,
        ssh_user="trainrig", ssh_port=port, host_key=key.public,
    )  # fmt: skip
    known, config, identity = (directory / f for f in (f"known_hosts{index}", f"config{index}", "id_ed25519"))
    known.write_text(ssh_config.known_hosts((node,)))
    config.write_text(ssh_config.ssh_config((node,), key=identity, known_hosts=known, control_dir=directory))
    with timed(took, "ssh ready"):
        while subprocess.run([*ssh_to(directory, node), "true"], capture_output=True, check=False).returncode:
            time.sleep(0.05)
    return node


def ssh_to(directory: Path, node: Node) -> list[str]:
    return ["ssh", "-F", str(directory / f"config{node.rank}"), "-o", "BatchMode=yes", node.name]


def load(directory: Path, node: Node, image: str) -> None:
    line = f"docker save {image} | {shlex.join(ssh_to(directory, node))} sudo docker load"
    subprocess.run(["bash", "-o", "pipefail", "-c", line], check=True, capture_output=True)


def bare_parts(directory: Path, count: int) -> dict[str, float]:
    """Seconds of each part, on `count` nodes at once; the last node's where each has its own."""
    took: dict[str, float] = {}
    image = built_images.container()
    (directory / "id_ed25519").unlink(missing_ok=True)
    sh("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / "id_ed25519"))
    names = [f"trainrig-bench-{os.getpid()}-{index}" for index in range(count)]
    with ThreadPoolExecutor(count) as pool:
        try:
            nodes = list(pool.map(lambda index: bare_node(directory, index, took), range(count)))
            variables = inventory.role_variables(
                Job(name="bench", options=(ResourceOption(),), run="true"), smallest_offer(), image, grace_seconds=30
            )
            config = directory / "config"
            config.write_text("".join((directory / f"config{node.rank}").read_text() for node in nodes))
            hosts = directory / "hosts.json"
            hosts.write_text(json.dumps(inventory.inventory(nodes, variables, ssh_config=config)))
            playbook = assets.path("ansible") / "playbooks" / "configure.yml"
            with timed(took, "ansible-playbook"):
                env = {**os.environ, "ANSIBLE_CONFIG": str(playbook.parent.parent / "ansible.cfg")}
                program = Path(sys.executable).with_name("ansible-playbook")
                subprocess.run(
                    [str(program), "-i", str(hosts), str(playbook)], env=env, check=True, capture_output=True
                )
            with timed(took, "docker save | load"):
                list(pool.map(lambda node: load(directory, node, image), nodes))
            words = ["sudo", "docker", "run", "--rm", "--network=host", "--entrypoint=/bin/true", image]
            with timed(took, "docker run"):
                list(pool.map(lambda node: sh(*ssh_to(directory, node), *words), nodes))
            for node in nodes:
                argv = [*ssh_to(directory, node)[:-1], "-q", "-O", "exit", node.name]
                subprocess.run(argv, capture_output=True, check=False)
        finally:
            with timed(took, "docker rm"):
                list(pool.map(lambda name: sh("docker", "rm", "-f", "-v", name), names))
                list(pool.map(lambda name: sh("docker", "network", "rm", name), names))
    return took


def least(rounds: int, *works: Callable[[], float]) -> list[float]:
    """The least of each, in turn."""
    found = [float("inf")] * len(works)
    for _ in range(rounds):
        found = [min(best, work()) for best, work in zip(found, works, strict=True)]
    return found


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    prepare.prepare(proc.run, silent)
    directory = Path(tempfile.mkdtemp(prefix="tr-bench-"))
    parts: dict[str, float] = {}

    def bare() -> float:
        took = bare_parts(directory, 1)
        for part, seconds in took.items():
            parts[part] = min(parts.get(part, float("inf")), seconds)
        return sum(took.values())

    def four_bare() -> float:
        began = time.perf_counter()
        bare_parts(directory, 4)
        return time.perf_counter() - began

    ours = [partial(trainrig_run, directory, nodes) for nodes in (1, 4)]
    try:
        one, total, four, four_total = least(rounds, ours[0], bare, ours[1], four_bare)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print("| what | seconds | ratio | limit |\n| --- | --- | --- | --- |")
    for part, seconds in parts.items():
        print(f"| {part} | {seconds:.1f} | | |")
    print(f"| bare parts, one node | {total:.1f} | 1 | |")
    print(f"| trainrig run, one node | {one:.1f} | {one / total:.2f} x the parts | {LIMIT_ONE} |")
    print(f"| bare parts, four nodes at once | {four_total:.1f} | {four_total / total:.2f} x one node | |")
    print(f"| trainrig run, four nodes | {four:.1f} | {four / one:.2f} x one node | {LIMIT_FOUR} |")
    return int(one / total > LIMIT_ONE or four / one > LIMIT_FOUR)


if __name__ == "__main__":
    sys.exit(main())
