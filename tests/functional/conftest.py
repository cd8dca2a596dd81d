"""Tests in this folder run the main job for real: Docker, Terraform, SSH, on this machine."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import docker
import pytest

from trainrig.clouds import registry
from trainrig.model.events import silent
from trainrig.tools import proc


def holds(client: docker.DockerClient) -> dict[str, set[str]]:
    return {
        "containers": {str(c.name) for c in client.containers.list(all=True, ignore_removed=True)},
        "networks": {str(n.name) for n in client.networks.list()},
        "volumes": {str(v.name) for v in client.volumes.list()},
    }


@pytest.fixture
def client(local_cloud: None) -> Iterator[docker.DockerClient]:
    client = docker.from_env()
    yield client
    client.close()


@pytest.fixture(scope="session")
def local_cloud() -> None:
    """Docker, and the node image; built here when this machine has never run a rig."""
    if shutil.which("docker") is None:
        pytest.skip("needs Docker")
    registry.prepare("local").prepare(proc.run, silent)


@pytest.fixture
def attached(local_cloud: None) -> Iterator[Mapping[str, str]]:
    """The provider, served in this process."""
    with registry.provider("local").serve() as env:
        yield env


@pytest.fixture
def nothing_left(client: docker.DockerClient, tmp_path: Path) -> Iterator[None]:
    """Docker holds nothing of the rigs that the test has rendered: others may be up, of tests beside this one."""
    yield
    inputs = [json.loads(path.read_text()) for path in tmp_path.glob("*/terraform.tfvars.json")]
    run_ids = {given["rig"]["labels"]["trainrig-run-id"] for given in inputs}
    assert run_ids
    for kind, names in holds(client).items():
        assert {name for name in names if any(run_id in name for run_id in run_ids)} == set(), kind


@pytest.fixture
def unused_tcp_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
