"""What goes wrong on a machine, as Docker really says it: an error with its class and what to do, and nothing left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker
import pytest

from support import local_rig
from support.local_rig import LocalRig
from trainrig.clouds import registry
from trainrig.model.fault import FaultClass, classify

pytestmark = [pytest.mark.docker, pytest.mark.terraform, pytest.mark.usefixtures("nothing_left")]

SUBNET = "10.231.77.0/24"


@contextmanager
def foreign_container(client: docker.DockerClient, name: str) -> Iterator[Any]:
    container = client.containers.create(registry.built_images("local").container(), ["true"], name=name)
    try:
        yield container
    finally:
        container.remove(force=True)


@contextmanager
def foreign_network(client: docker.DockerClient, subnet: str) -> Iterator[None]:
    pools = docker.types.IPAMConfig(pool_configs=[docker.types.IPAMPool(subnet=subnet)])
    network = client.networks.create("somebody-elses", ipam=pools)
    try:
        yield
    finally:
        network.remove()


def failed_apply(rig: LocalRig) -> tuple[FaultClass, str]:
    """The class of what apply said, and its words on one line; the rig is destroyed, and nothing of it is left."""
    rig.terraform("init", "-input=false")
    said = rig.terraform("apply", "-auto-approve", "-input=false", "-no-color", code=1)
    rig.destroy()
    assert rig.leftovers() == []
    words = " ".join(said.replace("│", " ").split())
    return classify(words, registry.facts("local").faults)[0], words


def test_a_name_that_is_taken(tmp_path: Path, attached: Mapping[str, str], client: docker.DockerClient) -> None:
    rig = local_rig.render(tmp_path / "rig", attach=attached)
    with foreign_container(client, f"tr-finetune-{rig.run_id}-0") as theirs:
        fault, words = failed_apply(rig)
        theirs.reload()  # still there
    assert fault is FaultClass.CONFIG
    assert "hint: a container of that name exists" in words


def test_a_subnet_that_is_taken(tmp_path: Path, attached: Mapping[str, str], client: docker.DockerClient) -> None:
    rig = local_rig.render(tmp_path / "rig", attach=attached)
    rig.set_input(existing_network={"subnet": SUBNET})
    with foreign_network(client, SUBNET):
        fault, words = failed_apply(rig)
    assert fault is FaultClass.CONFIG
    assert "hint: another network of this machine uses that subnet" in words


def test_a_subnet_of_ones_own(tmp_path: Path, attached: Mapping[str, str]) -> None:
    rig = local_rig.render(tmp_path / "rig", attach=attached)
    rig.set_input(existing_network={"subnet": SUBNET})
    try:
        (node,) = rig.apply()
        assert node.private_ip.startswith("10.231.77.")
    finally:
        rig.destroy()


def test_an_image_that_is_missing(tmp_path: Path, attached: Mapping[str, str]) -> None:
    rig = local_rig.render(tmp_path / "rig", attach=attached)
    rig.set_input(image="trainrig-node:000000000000")
    fault, words = failed_apply(rig)
    assert fault is FaultClass.CONFIG
    assert "hint: build the node image" in words


def test_gpus_that_are_not_there(tmp_path: Path, attached: Mapping[str, str]) -> None:
    rig = local_rig.render(tmp_path / "rig", attach=attached)
    rig.set_input(gpus=99)
    fault, words = failed_apply(rig)
    assert fault is FaultClass.CAPACITY
    assert "NVIDIA" in words


def test_no_docker(tmp_path: Path, attached: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    rig = local_rig.render(tmp_path / "rig", attach=attached)
    rig.terraform("init", "-input=false")
    with monkeypatch.context() as patch:
        patch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
        said = rig.terraform("apply", "-auto-approve", "-input=false", "-no-color", code=1)
    assert "hint: start it: sudo systemctl start docker" in said
    assert classify(said, registry.facts("local").faults)[0] is FaultClass.AUTH
