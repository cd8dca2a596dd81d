"""The job's container image on its nodes: already there, streamed from this machine, or pulled by the node."""

from __future__ import annotations

import contextlib
import json
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from trainrig.errors import CommandFailed, ConfigureFailed, Interrupted, MissingTool, RigError, SpecInvalid
from trainrig.model.events import Observer, Progress
from trainrig.model.node import Node
from trainrig.model.process import Command
from trainrig.tools import proc
from trainrig.tools.ssh import Ssh

# Logs in, with the job's login or the node's own identity, pulls, and forgets the login (role container_runtime).
PULL = "/usr/local/lib/trainrig/pull"
_BUILT = "trainrig-built"
_ANSWER_SECONDS = 60  # for Docker of a node to say what it has
_DOCKER_HUB = "docker.io"
_HUB_NAMES = ("", "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com", "hub.docker.com")


@dataclass(frozen=True, kw_only=True, slots=True)
class Login:
    server: str
    user: str
    password: str

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> Login | None:
        """From the names that task files use; None when they name no user."""
        user = variables.get("SKYPILOT_DOCKER_USERNAME")
        if not user:
            return None
        return cls(
            server=_registry(variables.get("SKYPILOT_DOCKER_SERVER", "")),
            user=user,
            password=variables.get("SKYPILOT_DOCKER_PASSWORD", ""),
        )


def _registry(server: str) -> str:
    """The host that `docker login` makes of a server as task files write it: `https://ghcr.io/org/` is ghcr.io."""
    host = server.strip().partition("://")[2] or server.strip()
    host = host.partition("/")[0].lower()
    return _DOCKER_HUB if host in _HUB_NAMES else host


def deliver(ssh: Ssh, image: str, observe: Observer, *, login: Login | None = None) -> None:
    """Makes `image` runnable on all nodes.

    Args:
        image: a reference; with a digest, Docker itself checks what it pulls.
        login: for the registry, during the pull alone.

    Raises:
        ConfigureFailed: a node could not get it, with Docker's own words.
    """
    here = local_image(image)
    if here and not here[1]:  # no registry knows it: it was built on this machine
        _stream(ssh, image, here[0], observe)
        return
    complaints = zip(ssh.nodes, ssh.each(lambda node: _pull(ssh, node, image, login, observe)), strict=True)
    failed = {node.name: words for node, words in complaints if words}
    if failed and here:
        _stream(ssh, image, here[0], observe)
    elif failed:
        lines = [f"{name}: {words}" for name, words in failed.items()]
        raise ConfigureFailed(
            "\n    ".join([f"the image {image} is not to be had", *lines]),
            hint="it was built on another machine: run or plan it here again, or push it to a registry"
            if image.startswith("sha256:")
            else "check the reference and the registry login; an image of this machine is sent when Docker here has it",
        )


def build(dockerfile: Path, name: str, observe: Observer) -> str:
    """Builds an image on this machine, from the Dockerfile's own folder and with Docker's cache; returns its id.

    Args:
        name: of the job; the image is kept under it until the next build.

    Raises:
        SpecInvalid: there is no such file, or it does not build, with the builder's last words.
        MissingTool: no Docker here.
    """
    if not dockerfile.is_file():
        raise SpecInvalid(f"image: there is no Dockerfile {dockerfile}", hint="check the path in the job file")
    last: deque[str] = deque(maxlen=5)

    def hear(line: str) -> None:
        if line.strip():
            last.append(line.strip())
            observe(Progress(phase="deliver", message=line.strip()[:120]))

    with tempfile.TemporaryDirectory(prefix="trainrig-build-") as folder:
        iid = Path(folder) / "id"
        # The old builder leaves the container of a step that failed, unless told otherwise.
        words = ["docker", "build", "--iidfile", str(iid), "--force-rm", "--tag", f"{_BUILT}/{name.lower()}"]
        words += ["--file", str(dockerfile)]
        # The old builder talks on stdout, the new one on stderr.
        argv = ["sh", "-c", 'exec "$@" 2>&1', "sh", *words, str(dockerfile.parent)]
        proc.find("docker")
        if proc.stream(Command(argv=argv), hear, check=False):
            raise SpecInvalid(
                "\n    ".join([f"{dockerfile} does not build", *last]),
                hint=f"docker build --file {dockerfile} shows all",
            )
        return iid.read_text(encoding="utf-8").strip()


def local_image(image: str) -> tuple[str, tuple[str, ...]] | None:
    """Id and registry digests of an image on this machine; None when there is none, or no Docker."""
    template = "{{.Id}}{{range .RepoDigests}} {{.}}{{end}}"
    try:
        outcome = proc.run(Command(argv=["docker", "image", "inspect", "--format", template, image]), check=False)
    except MissingTool:
        return None
    if not outcome.ok:
        return None
    words = outcome.stdout.split()
    return words[0], tuple(words[1:])


def node_image(ssh: Ssh, node: Node, image: str) -> str | None:
    """The image's id on a node; None when it is not there."""
    words = ["docker", "image", "inspect", "--format", "{{.Id}}", image]
    outcome = ssh.run(node, words, timeout_seconds=_ANSWER_SECONDS, check=False)
    return outcome.stdout.strip() if outcome.ok else None


class Ahead:
    """An image of this machine, sent while the nodes do something else.

    It is a head start and no more: a node whose Docker is not up yet, or goes down meanwhile, gets the image from
    deliver(), which also says what fails.
    """

    def __init__(self, image: str, observe: Observer) -> None:
        self._image = image
        self._observe = observe
        self._left = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind:
            self._left.set()
        if self._thread:
            self._thread.join()

    def begin(self, ssh: Ssh) -> None:
        self._thread = threading.Thread(target=self._send, args=(ssh,), name="image", daemon=True)
        self._thread.start()

    def _send(self, ssh: Ssh) -> None:
        here = local_image(self._image)
        if not here or here[1]:
            return
        with contextlib.suppress(RigError):
            ask = ["docker", "version"]
            up = ssh.each(lambda node: ssh.run(node, ask, timeout_seconds=_ANSWER_SECONDS, check=False).ok)
            ready = tuple(node for node, answers in zip(ssh.nodes, up, strict=True) if answers)
            _stream(replace(ssh, nodes=ready), self._image, here[0], self._observe, self._left.is_set)


def _stream(
    ssh: Ssh, image: str, image_id: str, observe: Observer, stopped: Callable[[], bool] = lambda: False
) -> None:
    """One `docker save` feeds all nodes that lack the image. Raises Interrupted when `stopped` says so."""
    have = ssh.each(lambda node: node_image(ssh, node, image))
    missing = [node for node, there in zip(ssh.nodes, have, strict=True) if there != image_id]
    if not missing:
        observe(Progress(phase="deliver", message=f"{image} is there already"))
        return
    size = int(proc.run(Command(argv=["docker", "image", "inspect", "--format", "{{.Size}}", image])).stdout)
    where = missing[0].name if len(missing) == 1 else f"{len(missing)} nodes"
    told = 0

    def report(done: int) -> None:
        nonlocal told
        if stopped():
            raise Interrupted(f"sending {image} was stopped")
        done = min(done, size)  # the stream is a little longer than the image: tar headers and metadata
        if done - told >= size // 50 or done == size > told:
            told = done
            observe(Progress(phase="deliver", message=f"{image} to {where}", done=done, total=size))

    sinks = [ssh.command(node, ["docker", "load", "--quiet"]) for node in missing]
    try:
        proc.pipe(Command(argv=["docker", "save", image]), sinks, report)
    except CommandFailed as error:
        message = f"the image {image} did not arrive: {error.message}"
        raise ConfigureFailed(message, hint="is the node's disk full? df -h /var/lib/docker") from error


def _pull(ssh: Ssh, node: Node, image: str, login: Login | None, observe: Observer) -> str:
    """Docker's complaint, empty when the node has the image now."""
    if "@sha256:" in image and node_image(ssh, node, image):
        observe(Progress(phase="deliver", message=f"{image} is there already", node=node.name))
        return ""
    observe(Progress(phase="deliver", message=f"pulling {image}", node=node.name))
    stdin = json.dumps(asdict(login)).encode() if login else b""
    secrets = [login.password] if login else []
    outcome = ssh.run(node, [PULL, image], stdin=stdin, secrets=secrets, check=False)
    return "" if outcome.ok else outcome.stderr.strip() or f"{PULL} exited with {outcome.returncode}"
