"""How a node is kept apart from the host: as little privilege as lets systemd and a nested Docker daemon start.

Which flags that takes depends on the host, so one throw-away node tries them once, and the answer stays in Docker
beside the node image as another name of it.
"""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Any

from docker.errors import DockerException
from docker.models.containers import Container
from docker.types import Mount

from trainrig.errors import PreflightFailed
from trainrig.localcloud.engine import EXPIRES_LABEL, RUN_ID_LABEL, Engine, doing
from trainrig.model.rig import MANAGED_BY

PROBE_SECONDS = 40


class Isolation(StrEnum):
    NESTED = "nested"  # two capabilities and no seccomp filter
    PRIVILEGED = "privileged"  # all of them; where a security module forbids the nested daemon otherwise


def isolation_flags(isolation: Isolation) -> dict[str, Any]:
    """The part of `docker create` that is the same for every node; works on cgroup v1 and v2.

    The host's cgroup tree, writable and in the host's namespace, is what systemd needs to start without privilege.
    """
    rights: dict[str, Any] = (
        {"privileged": True}
        if isolation is Isolation.PRIVILEGED
        else {"cap_add": ["SYS_ADMIN", "NET_ADMIN"], "security_opt": ["seccomp=unconfined", "apparmor=unconfined"]}
    )
    return {
        "tmpfs": {"/run": "", "/run/lock": ""},
        "volumes": {"/sys/fs/cgroup": {"bind": "/sys/fs/cgroup", "mode": "rw"}},
        "cgroupns": "host",
        "stop_signal": "SIGRTMIN+3",  # to systemd: an orderly power-off
        **rights,
    }


def chosen(engine: Engine, image: str) -> Isolation | None:
    """What an earlier probe found for this node image; None: never probed."""
    return next((i for i in Isolation if engine.has_image(_mark(image, i))), None)


def choose(engine: Engine, image: str) -> Isolation:
    """Probes in order of privilege and remembers the first that works.

    Raises:
        PreflightFailed: no nested Docker daemon starts on this machine.
    """
    tried = {}
    for isolation in Isolation:
        tried[isolation] = problem = _probe(engine, image, isolation)
        if problem is None:
            repository, _, tag = _mark(image, isolation).partition(":")
            engine.client.images.get(image).tag(repository, tag)
            return isolation
    raise PreflightFailed(
        "no Docker daemon starts inside a node on this machine",
        hint="nodes need a rootful Docker Engine on Linux; in a container, that container needs --privileged",
        details={str(k): v for k, v in tried.items()},
    )


def _mark(image: str, isolation: Isolation) -> str:
    repository, _, tag = image.partition(":")
    return f"{repository}-{isolation}:{tag}"


def _probe_labels() -> dict[str, str]:
    """So that `sweep` finds a probe whose trainrig was killed."""
    return {
        "managed-by": MANAGED_BY,
        RUN_ID_LABEL: "probe",
        EXPIRES_LABEL: str(int(time.time()) + 2 * PROBE_SECONDS),
    }


def _probe(engine: Engine, image: str, isolation: Isolation) -> str | None:
    """None: it works; else what failed."""
    try:
        container = engine.client.containers.create(
            image,
            ["/sbin/init"],
            labels=_probe_labels(),
            # An anonymous volume: overlayfs cannot lie on the container's own overlayfs. It goes with the container.
            mounts=[Mount("/var/lib/docker", None, type="volume")],
            **isolation_flags(isolation),
        )
    except DockerException as error:
        return str(error)
    try:
        container.start()
        return _await_daemon(container)
    except DockerException as error:
        return str(error)
    finally:
        with doing("remove the probe"):
            container.remove(force=True, v=True)


def _await_daemon(container: Container) -> str | None:
    problem = "it did not start"
    deadline = time.monotonic() + PROBE_SECONDS
    while time.monotonic() < deadline:
        container.reload()
        if container.status != "running":
            return f"the node stopped with exit code {container.attrs['State']['ExitCode']}"
        code, output = container.exec_run(["docker", "info"])
        if code == 0:
            return None
        problem = words(output)
        time.sleep(0.3)
    return problem


def words(output: object) -> str:
    """What a command in a container printed; Docker's types also know a stream, which we never ask for."""
    return output.decode("utf-8", "replace").strip() if isinstance(output, bytes) else ""
