"""What `trainrig run` adds to its bare parts on the local cloud, as ratios in one run.

    python tests/bench/run_local.py [ROUNDS]

prints the table that docs/performance.md quotes, and exits with 1 when a limit is passed. The bare parts are the same
node, the same roles and the same image, by the tools' own commands: docker create and start, ssh until it answers,
ansible-playbook, docker save | ssh docker load, ssh docker run, docker rm. A run and a bare round take turns, so that a
busy machine is busy for both; the least of each is taken. Everything is warm: images are built before.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
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


def bare_parts(directory: Path) -> dict[str, float]:
    """Seconds of each part, for one node."""
    took: dict[str, float] = {}
    name = f"trainrig-bench-{os.getpid()}"
    offer, image = smallest_offer(), built_images.container()
    key = hostkey.generate()
    (directory / "id_ed25519").unlink(missing_ok=True)
    sh("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / "id_ed25519"))
    public = (directory / "id_ed25519.pub").read_text().strip()
    files = rootfs.node_files(public, key, datetime.now(UTC) + timedelta(hours=1))
    try:
        with timed(took, "docker create, start"):
            sh("docker", "network", "create", name)
            limits = [f"--cpus={offer.vcpus:g}", f"--memory={int(offer.memory_gib * 1024)}m"]
            argv = ["docker", "create", f"--name={name}", f"--hostname={name}", f"--network={name}", *limits, *FLAGS]
            sh(*argv, built_images.machine(), "/sbin/init")
            sh("docker", "cp", "-", f"{name}:/", stdin=files)
            sh("docker", "start", name)
        port = int(sh("docker", "port", name, "22/tcp").rpartition(":")[2])
        node = Node(
            rank=0, name=name, public_ip="127.0.0.1", private_ip="127.0.0.1", instance_id=name,
            ssh_user="trainrig", ssh_port=port, host_key=key.public,
        )  # fmt: skip
        known, config = directory / "known_hosts", directory / "ssh_config"
        known.write_text(ssh_config.known_hosts((node,)))
        config.write_text(
            ssh_config.ssh_config((node,), key=directory / "id_ed25519", known_hosts=known, control_dir=Path(directory))
        )
        ssh = ["ssh", "-F", str(config), "-o", "BatchMode=yes", name]
        with timed(took, "ssh ready"):
            while subprocess.run([*ssh, "true"], capture_output=True, check=False).returncode:
                time.sleep(0.05)
        job = Job(name="bench", options=(ResourceOption(),), run="true")
        variables = inventory.role_variables(job, offer, image, grace_seconds=30)
        hosts = directory / "hosts.json"
        hosts.write_text(json.dumps(inventory.inventory((node,), variables, ssh_config=config)))
        playbook = assets.path("ansible") / "playbooks" / "configure.yml"
        with timed(took, "ansible-playbook"):
            env = {**os.environ, "ANSIBLE_CONFIG": str(playbook.parent.parent / "ansible.cfg")}
            program = Path(sys.executable).with_name("ansible-playbook")
            subprocess.run([str(program), "-i", str(hosts), str(playbook)], env=env, check=True, capture_output=True)
        with timed(took, "docker save | load"):
            subprocess.run(
                f"docker save {image} | {' '.join(ssh)} sudo docker load", shell=True, check=True, capture_output=True
            )
        with timed(took, "docker run"):
            sh(*ssh, "sudo", "docker", "run", "--rm", "--network=host", "--entrypoint=/bin/true", image)
        subprocess.run([*ssh[:-1], "-q", "-O", "exit", name], capture_output=True, check=False)
    finally:
        with timed(took, "docker rm"):
            sh("docker", "rm", "-f", "-v", name)
            sh("docker", "network", "rm", name)
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
        took = bare_parts(directory)
        for part, seconds in took.items():
            parts[part] = min(parts.get(part, float("inf")), seconds)
        return sum(took.values())

    try:
        one, total, four = least(rounds, lambda: trainrig_run(directory, 1), bare, lambda: trainrig_run(directory, 4))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print("| what | seconds | ratio | limit |\n| --- | --- | --- | --- |")
    for part, seconds in parts.items():
        print(f"| {part} | {seconds:.1f} | | |")
    print(f"| bare parts, one node | {total:.1f} | 1 | |")
    print(f"| trainrig run, one node | {one:.1f} | {one / total:.2f} x the parts | {LIMIT_ONE} |")
    print(f"| trainrig run, four nodes | {four:.1f} | {four / one:.2f} x one node | {LIMIT_FOUR} |")
    return int(one / total > LIMIT_ONE or four / one > LIMIT_FOUR)


if __name__ == "__main__":
    sys.exit(main())
