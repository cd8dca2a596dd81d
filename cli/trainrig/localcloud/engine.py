"""The Docker Engine API, with its failures put into words that say what mends them."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import docker
from docker.errors import APIError, DockerException, ImageNotFound

from trainrig.errors import CommandFailed, CredentialsMissing, MissingTool, PreflightFailed

# A node is created in under a second; a call that takes this long has a daemon that hangs.
CALL_TIMEOUT_SECONDS = 120
UNIX = "unix://"
DEFAULT_ADDRESS = f"{UNIX}/var/run/docker.sock"
RUN_ID_LABEL = "trainrig-run-id"
EXPIRES_LABEL = "trainrig-expires"

START_HINT = "start it: sudo systemctl start docker"
INSTALL_HINT = "install it: sudo apt-get install docker.io (macOS: Docker Desktop)"

# What Docker says -> what to do about it. The first match wins.
HINTS = (
    ("fully subnetted", "Docker has no subnet left: `trainrig sweep` removes networks of expired rigs"),
    ("Pool overlaps", "another network of this machine uses that subnet: choose another in `network: {subnet: ...}`"),
    ("no space left", "free some disk: `docker system df` shows what Docker itself holds"),
    ("is already in use by container", "a container of that name exists and is not of this run: remove or rename it"),
    ("port is already allocated", "another program took the port just now: run it again"),
    ("could not select device driver", "install the NVIDIA container toolkit on this machine and restart Docker"),
    ("No such image", "build the node image: `trainrig check --cloud local` says what is missing"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    client: docker.DockerClient

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def has_image(self, reference: str) -> bool:
        try:
            self.client.images.get(reference)
        except ImageNotFound:
            return False
        return True

    def import_image(self, tar: Path, reference: str, *, entry: Sequence[str]) -> None:
        """Makes an image of a root file system. `docker import` takes no STOPSIGNAL, containers set their own."""
        repository, _, tag = reference.partition(":")
        with doing(f"docker import {reference}"):
            answer = self.client.api.import_image_from_file(
                str(tar), repository=repository, tag=tag, changes=[f"CMD {json.dumps(list(entry))}"]
            )
        # Docker answers 200 first and fails in the stream of messages that follows.
        for line in str(answer).splitlines():
            if line.startswith('{"error'):
                raise failure(f"docker import {reference}", json.loads(line).get("error", line))

    def free_gb(self) -> float | None:
        """Free space where Docker keeps images and nodes; None where that is not a folder of this machine."""
        root = Path(str(self.client.info().get("DockerRootDir", "")))
        try:
            return shutil.disk_usage(root).free / 1e9
        except OSError:
            return None


def connect() -> Engine:
    """The engine that DOCKER_HOST names, else the one of this machine. Used in `with`, it closes its connections.

    Raises:
        CredentialsMissing: it runs, and this user may not talk to it.
        PreflightFailed: it is not installed or does not run.
    """
    try:
        _knock()
        return Engine(client=docker.from_env(timeout=CALL_TIMEOUT_SECONDS))
    except (DockerException, OSError) as error:
        raise _unreachable(error) from error


def _knock() -> None:
    """docker-py hides why a socket refuses, and leaves it open."""
    address = os.environ.get("DOCKER_HOST") or DEFAULT_ADDRESS
    if address.startswith(UNIX):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(address.removeprefix(UNIX))


def _unreachable(error: Exception) -> PreflightFailed:
    if isinstance(error, PermissionError):
        return CredentialsMissing(
            "this user may not use Docker", hint="sudo usermod -aG docker $USER, then log in again; or run as root"
        )
    if shutil.which("dockerd") is None and shutil.which("docker") is None:
        return MissingTool("Docker is not installed", hint=INSTALL_HINT)
    return PreflightFailed("Docker is installed but does not answer", hint=START_HINT, details={"docker": str(error)})


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Turns what Docker says into a CommandFailed that says what was being done and what to do now."""
    try:
        yield
    except (DockerException, OSError) as error:
        raise failure(what, explanation(error)) from error


def explanation(error: Exception) -> str:
    return str(error.explanation or error) if isinstance(error, APIError) else str(error)


def failure(what: str, words: str) -> CommandFailed:
    hint = next((hint for sign, hint in HINTS if sign.lower() in words.lower()), "")
    return CommandFailed(f"{what}: {words}", hint=hint)
