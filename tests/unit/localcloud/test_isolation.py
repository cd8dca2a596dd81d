from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest
from docker.errors import DockerException

from trainrig.errors import PreflightFailed
from trainrig.localcloud.engine import Engine
from trainrig.localcloud.isolation import Isolation, choose, chosen, isolation_flags

IMAGE = "trainrig-node:0123456789ab"


class FakeContainer:
    status = "running"

    def __init__(self, docker: FakeDocker, *, starts: bool) -> None:
        self._docker, self._starts = docker, starts
        docker.there.append(self)

    def start(self) -> None:
        if not self._starts:
            raise DockerException("unable to apply caps: operation not permitted")

    def reload(self) -> None:
        pass

    def exec_run(self, argv: list[str]) -> tuple[int, bytes]:
        return 0, b""

    def remove(self, **_: bool) -> None:
        self._docker.there.remove(self)


class FakeDocker:
    """An engine whose security module lets a node start only with the flags in `allowed`."""

    def __init__(self, allowed: set[Isolation]) -> None:
        self.allowed = allowed
        self.tags = {IMAGE}
        self.there: list[FakeContainer] = []
        self.containers = SimpleNamespace(create=self.create)
        self.images = SimpleNamespace(get=lambda _: SimpleNamespace(tag=lambda r, t: self.tags.add(f"{r}:{t}")))

    def has_image(self, reference: str) -> bool:
        return reference in self.tags

    @property
    def client(self) -> FakeDocker:
        return self

    def create(self, image: str, command: list[str], **flags: Any) -> FakeContainer:
        isolation = Isolation.PRIVILEGED if flags.get("privileged") else Isolation.NESTED
        return FakeContainer(self, starts=isolation in self.allowed)


def engine(*allowed: Isolation) -> Engine:
    return cast("Engine", FakeDocker(set(allowed)))


def test_the_least_privilege_that_works_is_taken_and_remembered() -> None:
    both = engine(*Isolation)
    assert chosen(both, IMAGE) is None
    assert choose(both, IMAGE) is Isolation.NESTED
    assert chosen(both, IMAGE) is Isolation.NESTED


def test_more_privilege_where_nothing_less_works() -> None:
    only = engine(Isolation.PRIVILEGED)
    assert choose(only, IMAGE) is Isolation.PRIVILEGED
    assert chosen(only, IMAGE) is Isolation.PRIVILEGED


def test_a_machine_that_allows_neither_says_why() -> None:
    with pytest.raises(PreflightFailed, match="no Docker daemon starts inside a node") as caught:
        choose(engine(), IMAGE)
    assert "operation not permitted" in str(caught.value.details["nested"])


@pytest.mark.parametrize("allowed", [(), (Isolation.PRIVILEGED,), tuple(Isolation)])
def test_no_probe_stays_also_not_one_that_docker_made_and_could_not_start(allowed: tuple[Isolation, ...]) -> None:
    docker = FakeDocker(set(allowed))
    with suppress(PreflightFailed):
        choose(cast("Engine", docker), IMAGE)
    assert docker.there == []


def test_a_node_is_not_privileged_by_default() -> None:
    flags = isolation_flags(Isolation.NESTED)
    assert "privileged" not in flags
    assert flags["cap_add"] == ["SYS_ADMIN", "NET_ADMIN"]
