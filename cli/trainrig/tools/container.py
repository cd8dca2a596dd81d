"""The job's container image on its nodes: already there, streamed from this machine, or pulled by the node."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trainrig.errors import CommandFailed, ConfigureFailed, MissingTool
from trainrig.model.events import Observer, Progress
from trainrig.model.node import Node
from trainrig.model.process import Command
from trainrig.tools import proc, rsync
from trainrig.tools.ssh import Ssh, in_parallel

BUILD_DIR = "/srv/trainrig/build"


def deliver(ssh: Ssh, image: str, observe: Observer, *, build: Path | None = None) -> None:
    """Makes `image` runnable on all nodes.

    Args:
        image: a reference; with a digest, Docker itself checks what it pulls.
        build: a directory with a Dockerfile to build `image` from, on every node, layers cached there.

    Raises:
        ConfigureFailed: a node could not get it, with Docker's own words.
    """
    if build:
        ssh.each(lambda node: _build(ssh, node, image, build, observe))
        return
    here = local_image(image)
    if here and not here[1]:  # no registry knows it: it was built on this machine
        _stream(ssh, image, here[0], observe)
        return
    failed = {
        n: words for n, words in zip(ssh.nodes, ssh.each(lambda n: _pull(ssh, n, image, observe)), strict=True) if words
    }
    if failed and here:
        _stream(ssh, image, here[0], observe)
    elif failed:
        lines = [f"{node.name}: {words}" for node, words in failed.items()]
        raise ConfigureFailed(
            "\n    ".join(
                [f"no node image {image}" if len(failed) == len(ssh.nodes) else f"{image} is missing", *lines]
            ),
            hint="check the reference and the registry login; an image of this machine is sent when Docker here has it",
        )


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
    outcome = ssh.run(node, ["docker", "image", "inspect", "--format", "{{.Id}}", image], check=False)
    return outcome.stdout.strip() if outcome.ok else None


def _stream(ssh: Ssh, image: str, image_id: str, observe: Observer) -> None:
    """One `docker save` feeds all nodes that lack the image."""
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
        done = min(done, size)  # the stream is a little longer than the image: tar headers and metadata
        if done - told >= size // 50 or done == size > told:
            told = done
            observe(Progress(phase="deliver", message=f"{image} to {where}", done=done, total=size))

    sinks = [ssh.command(node, ["docker", "load", "--quiet"]) for node in missing]
    try:
        proc.pipe(Command(argv=["docker", "save", image]), sinks, report)
    except CommandFailed as error:
        raise ConfigureFailed(
            f"the image {image} did not arrive: {error.message}", hint="is the node's disk full?"
        ) from error


def _pull(ssh: Ssh, node: Node, image: str, observe: Observer) -> str:
    """Docker's complaint, empty when the node has the image now."""
    if "@sha256:" in image and node_image(ssh, node, image):
        observe(Progress(phase="deliver", message=f"{image} is there already", node=node.name))
        return ""
    observe(Progress(phase="deliver", message=f"pulling {image}", node=node.name))
    outcome = ssh.run(node, ["docker", "pull", "--quiet", image], check=False)
    return "" if outcome.ok else outcome.stderr.strip() or f"docker pull exited with {outcome.returncode}"


def _build(ssh: Ssh, node: Node, image: str, directory: Path, observe: Observer) -> None:
    observe(Progress(phase="deliver", message=f"building {image}", node=node.name))
    rsync.push(ssh, node, directory, BUILD_DIR)
    try:
        ssh.run(node, ["docker", "build", "--tag", image, BUILD_DIR])
    except CommandFailed as error:
        raise ConfigureFailed(
            f"{node.name}: {image} did not build: {error.message}", hint=f"see {directory}/Dockerfile"
        ) from error


def login(ssh: Ssh, server: str, user: str, password: str, nodes: Sequence[Node] | None = None) -> None:
    """A registry login on the nodes, by password on stdin: it is on no command line."""
    words = ["docker", "login", "--username", user, "--password-stdin", server]
    in_parallel(nodes or ssh.nodes, lambda node: ssh.run(node, words, stdin=password.encode(), secrets=[password]))
