"""The training of the examples, in the container that a job without an image gets."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container

from trainrig import assets
from trainrig.clouds import registry

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("local_cloud")]

STEPS = 60


class Trainer:
    """Starts ranks of the training with their own folders under `root`."""

    def __init__(self, root: Path) -> None:
        self.client = docker.from_env()
        self.root = root
        self.started: list[Container] = []

    def start(self, *, rank: int = 0, nodes: int = 1, pace: float = 0, port: int = 0) -> Container:
        folders = {f"/{name}": self.root / f"{name}-{rank}" for name in ("checkpoints", "outputs")}
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
        container = self.client.containers.run(
            registry.built_images("local").container(),
            ["python3", "train.py"],
            working_dir="/workdir",
            volumes=[f"{assets.path('examples') / 'hello'}:/workdir:ro", *(f"{p}:{t}" for t, p in folders.items())],
            environment={
                "TRAINRIG_RANK": str(rank),
                "TRAINRIG_NODES": str(nodes),
                "STEPS": str(STEPS),
                "PACE_SECONDS": str(pace),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            network_mode="host",
            init=True,
            detach=True,
        )
        self.started.append(container)
        return container

    def lines(self, container: Container) -> list[dict[str, object]]:
        return [json.loads(line) for line in container.logs().decode().splitlines()]

    @property
    def metrics(self) -> Path:
        return self.root / "outputs-0" / "metrics.json"


@pytest.fixture
def trainers(tmp_path: Path) -> Iterator[list[Trainer]]:
    both = [Trainer(tmp_path / "a"), Trainer(tmp_path / "b")]
    yield both
    for trainer in both:
        for container in trainer.started:
            container.remove(force=True)
        trainer.client.close()


def test_an_interrupted_training_ends_with_the_same_bits(trainers: list[Trainer]) -> None:
    undisturbed, interrupted = trainers
    assert undisturbed.start().wait()["StatusCode"] == 0
    first = interrupted.start(pace=0.1)
    while not any(line["event"] == "step" for line in interrupted.lines(first)):
        time.sleep(0.05)
    first.stop(timeout=10)
    assert first.wait()["StatusCode"] == 143
    stopped = interrupted.lines(first)[-1]
    assert stopped["event"] == "stopped"
    second = interrupted.start()
    assert second.wait()["StatusCode"] == 0
    assert interrupted.lines(second)[0]["step"] == stopped["step"]
    assert interrupted.metrics.read_bytes() == undisturbed.metrics.read_bytes()
    assert json.loads(undisturbed.metrics.read_text())["accuracy"] > 0.9


def test_two_ranks_train_one_model(trainers: list[Trainer], unused_tcp_port: int) -> None:
    trainer = trainers[0]
    ranks = [trainer.start(rank=rank, nodes=2, port=unused_tcp_port) for rank in range(2)]
    assert [c.wait()["StatusCode"] for c in ranks] == [0, 0], [c.logs() for c in ranks]
    assert json.loads(trainer.metrics.read_text())["accuracy"] > 0.9
    assert not (trainer.root / "outputs-1" / "metrics.json").exists()
