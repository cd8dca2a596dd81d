"""One node as a container: systemd as PID 1, sshd, and an own Docker daemon for the job."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container
from docker.types import DeviceRequest, Mount
from filelock import FileLock

from trainrig.errors import CommandFailed, RigError
from trainrig.localcloud import engine as docker_engine
from trainrig.localcloud.engine import RUN_ID_LABEL, Engine, doing
from trainrig.localcloud.hostkey import HostKey
from trainrig.localcloud.isolation import Isolation, chosen, isolation_flags, words
from trainrig.localcloud.rootfs import LEASE_FILE, lease_files, node_files, read_lease

SSH = "22/tcp"
BOOT_SECONDS = 120  # a second, on a machine that is not busy
MAX_BOOTS = 10  # of one node; one that ends itself each time is broken
PORTS = range(20_000, 32_768)  # below those that a kernel gives to whoever asks for any
FUSE = Path("/dev/fuse")
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineSpec:
    name: str
    image: str
    network: str
    labels: Mapping[str, str]
    cpus: float  # 0: no limit
    memory_mib: int  # 0: no limit
    gpu_ids: tuple[str, ...]
    ssh_public_key: str
    expires_at: datetime

    @property
    def volume(self) -> str:
        """Holds the nested daemon's images; overlayfs cannot lie on the container's own overlayfs."""
        return f"{self.name}-docker"


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    status: str  # Docker's word: "running", "exited", "paused", ...
    private_ip: str | None  # None while it is cut off from its network
    ssh_port: int | None  # on 127.0.0.1; None unless it runs


def create(engine: Engine, spec: MachineSpec, host_key: HostKey) -> str:
    """Creates and files the container without starting it; returns its id, which is what must not get lost.

    Raises:
        CommandFailed: Docker refused; nothing is left.
    """
    try:
        with doing(f"create node {spec.name}"):
            container = _create(engine, spec)
    except RigError:
        _discard_volume(engine, spec)
        raise
    try:
        with doing(f"create node {spec.name}"):
            container.put_archive("/", node_files(spec.ssh_public_key, host_key, spec.expires_at))
    except RigError:
        remove(engine, str(container.id), spec.volume)
        raise
    return str(container.id)


def _create(engine: Engine, spec: MachineSpec) -> Container:
    isolation = chosen(engine, spec.image) or Isolation.NESTED
    # Its port is a node's own from here on, started or not.
    with FileLock(Path(tempfile.gettempdir()) / f"trainrig-ports-{os.getuid()}.lock", mode=0o600):
        arguments = flags(spec, isolation, _free_port(engine))
        try:
            return engine.client.containers.create(**arguments)
        except APIError as error:
            if error.status_code != 409 or not _is_ours(engine, spec):
                raise
            # A killed apply left it: created, but never written into the state.
            engine.client.containers.get(spec.name).remove(force=True, v=True)
            return engine.client.containers.create(**arguments)


def _free_port(engine: Engine) -> int:
    """One that no node has. Were Docker to choose, it would choose again at each boot of the node."""
    nodes = engine.client.api.containers(all=True, filters={"label": RUN_ID_LABEL})
    taken = {port for node in nodes for port in _ports(engine, node["Id"])}
    for port in random.sample(PORTS, len(PORTS)):
        if port not in taken and _is_free(port):
            return port
    raise CommandFailed("this machine has no free port for a node's sshd")


def _ports(engine: Engine, container_id: str) -> list[int]:
    try:
        bindings = engine.client.api.inspect_container(container_id)["HostConfig"]["PortBindings"] or {}
    except NotFound:
        return []
    return [int(b["HostPort"]) for b in bindings.get(SSH) or [] if b["HostPort"]]


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _is_ours(engine: Engine, spec: MachineSpec) -> bool:
    try:
        labels = engine.client.containers.get(spec.name).labels
    except NotFound:
        return False
    return bool(labels.get(RUN_ID_LABEL) == spec.labels[RUN_ID_LABEL])


def flags(spec: MachineSpec, isolation: Isolation, port: int) -> dict[str, Any]:
    """The arguments of `docker create`. `port` of this machine leads to the node's sshd."""
    return {
        "image": spec.image,
        "command": ["/sbin/init"],
        "name": spec.name,
        "hostname": spec.name,
        "labels": dict(spec.labels),
        "network": spec.network,
        "ports": {SSH: (LOOPBACK, port)},
        # Its own reboot, see recipe.NODE. One that was killed or has powered off stays so.
        "restart_policy": {"Name": "on-failure", "MaximumRetryCount": MAX_BOOTS},
        "mounts": [Mount("/var/lib/docker", spec.volume, type="volume", labels=dict(spec.labels))],
        "nano_cpus": round(spec.cpus * 1e9) or None,
        "mem_limit": f"{spec.memory_mib}m" if spec.memory_mib else None,
        "device_requests": [DeviceRequest(device_ids=list(spec.gpu_ids), capabilities=[["gpu"]])]
        if spec.gpu_ids
        else None,
        # For mounts of buckets; without it they are refused on the node, in words.
        "devices": [str(FUSE)] if FUSE.exists() else [],
        **isolation_flags(isolation),
    }


def start(engine: Engine, container_id: str, name: str) -> Observed:
    """Starts a node and waits until its sshd answers.

    Raises:
        CommandFailed: it stopped again, or did not answer in time; its last words are in the message.
    """
    with doing(f"start node {name}"):
        engine.client.containers.get(container_id).start()
    deadline = time.monotonic() + BOOT_SECONDS
    while time.monotonic() < deadline:
        seen = observe(engine, container_id)
        if seen is None or seen.status != "running":
            break
        if seen.ssh_port and _speaks_ssh(seen.ssh_port):
            return seen
        time.sleep(0.05)
    raise CommandFailed(f"node {name} did not come up: {_last_words(engine, container_id)}")


def _speaks_ssh(port: int) -> bool:
    # Docker's proxy accepts before the node listens, so only the greeting counts.
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def _last_words(engine: Engine, container_id: str) -> str:
    try:
        container = engine.client.containers.get(container_id)
        text = container.logs(tail=10).decode("utf-8", "replace").strip()
        return f"{container.status}, exit code {container.attrs['State']['ExitCode']} {text}".strip()
    except NotFound:
        return "its container is gone"


def observe(engine: Engine, container_id: str) -> Observed | None:
    """What is there now; None: no such container."""
    try:
        with doing(f"look at container {container_id[:12]}"):
            container = engine.client.containers.get(container_id)
    except RigError as error:
        if isinstance(error.__cause__, NotFound):
            return None
        raise
    network = container.attrs["NetworkSettings"]
    addresses = [n["IPAddress"] for n in network["Networks"].values() if n["IPAddress"]]
    published = (network["Ports"] or {}).get(SSH) or []
    return Observed(
        status=container.status,
        private_ip=addresses[0] if addresses else None,
        ssh_port=int(published[0]["HostPort"]) if published else None,
    )


def extend(engine: Engine, container_id: str, expires_at: datetime) -> None:
    """Moves the end of a running node's lease."""
    with doing(f"extend the lease of container {container_id[:12]}"):
        container = engine.client.containers.get(container_id)
        container.put_archive("/", lease_files(expires_at))
        for argv in (["systemctl", "daemon-reload"], ["systemctl", "restart", "trainrig-lease.timer"]):
            code, output = container.exec_run(argv)
            if code:
                raise CommandFailed(f"{' '.join(argv)}: {words(output)}")


def lease_end(container: Container) -> datetime | None:
    """When the lease of a node ends, by the node's own file; labels cannot change and may be behind."""
    try:
        chunks, _ = container.get_archive(f"/{LEASE_FILE}")
        return read_lease(b"".join(chunks))
    except DockerException:
        return None


def remove(engine: Engine, container_id: str, volume: str) -> None:
    """Removes a node with what it stored; already gone is fine."""
    remove_container(engine, container_id)
    remove_volume(engine, volume)


def remove_container(engine: Engine, container_id: str) -> None:
    with doing(f"remove container {container_id[:12]}"):
        try:
            engine.client.containers.get(container_id).remove(force=True, v=True)
        except NotFound:
            pass
        except APIError as error:
            # Two removals at once: the other one finishes it.
            if "already in progress" not in docker_engine.explanation(error):
                raise


def _discard_volume(engine: Engine, spec: MachineSpec) -> None:
    """After a create that failed: the volume may have been made, or be another's of that name."""
    with contextlib.suppress(DockerException):
        volume = engine.client.volumes.get(spec.volume)
        if (volume.attrs["Labels"] or {}).get(RUN_ID_LABEL) == spec.labels[RUN_ID_LABEL]:
            volume.remove()


def remove_volume(engine: Engine, name: str) -> None:
    with doing(f"remove volume {name}"), contextlib.suppress(NotFound):
        engine.client.volumes.get(name).remove()
