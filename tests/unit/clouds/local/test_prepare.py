from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from trainrig.clouds.local import prepare
from trainrig.errors import MissingTool, PreflightFailed
from trainrig.localcloud import image, isolation, recipe
from trainrig.localcloud.isolation import Isolation
from trainrig.model.events import Event, Progress
from trainrig.model.process import Command, Outcome


class FakeEngine:
    """The part of the engine that prepare asks; it has no images and `free` GB."""

    def __init__(self, *, images: set[str] | None = None, free: float | None = 100) -> None:
        self.images = images or set()
        self.free = free

    def has_image(self, reference: str) -> bool:
        return reference in self.images

    def free_gb(self) -> float | None:
        return self.free

    @contextmanager
    def connected(self) -> Iterator[FakeEngine]:
        yield self


def no_programs(command: Command, *, check: bool = True) -> Outcome:
    raise MissingTool(f"{command.argv[0]} is not on PATH", hint=f"install {command.argv[0]}")


@pytest.fixture
def said() -> list[str]:
    return []


def prepared(
    monkeypatch: pytest.MonkeyPatch,
    engine: FakeEngine,
    said: list[str],
    way: Isolation = Isolation.NESTED,
) -> None:
    monkeypatch.setattr(prepare, "connect", engine.connected)
    monkeypatch.setattr(recipe, "host_suite", lambda: "bookworm")
    monkeypatch.setattr(isolation, "choose", lambda *_: way)

    def observe(event: Event) -> None:
        assert isinstance(event, Progress)
        said.append(event.message)

    prepare.prepare(no_programs, observe)


def both() -> set[str]:
    return {r.reference("bookworm") for r in (recipe.NODE, recipe.PYTHON)}


def test_no_disk(monkeypatch: pytest.MonkeyPatch, said: list[str]) -> None:
    with pytest.raises(PreflightFailed, match=r"2\.0 GB of disk are free.* 4 GB are needed") as caught:
        prepared(monkeypatch, FakeEngine(free=2), said)
    assert "docker system df" in caught.value.hint


def test_less_disk_is_enough_once_the_images_are_there(monkeypatch: pytest.MonkeyPatch, said: list[str]) -> None:
    prepared(monkeypatch, FakeEngine(images=both(), free=2), said)
    assert said == ["find out how a node must be isolated here (once)"]


def test_an_image_that_is_missing_is_built_and_needs_mmdebstrap(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setattr(
        image, "host_distribution", lambda run, suite: image.Distribution(suite=suite, sources=("deb x bookworm main",))
    )
    with pytest.raises(MissingTool, match="mmdebstrap"):
        prepared(monkeypatch, FakeEngine(), said)
    assert said == [f"build {recipe.NODE.reference('bookworm')} from bookworm packages (once)"]


def test_another_distribution(monkeypatch: pytest.MonkeyPatch, said: list[str]) -> None:
    monkeypatch.setattr(prepare, "connect", FakeEngine().connected)
    monkeypatch.setattr(recipe, "host_suite", lambda: "")
    with pytest.raises(MissingTool, match="neither"):
        prepare.prepare(no_programs, lambda _: None)


def test_more_privilege_is_said(monkeypatch: pytest.MonkeyPatch, said: list[str]) -> None:
    prepared(monkeypatch, FakeEngine(images=both()), said, Isolation.PRIVILEGED)
    assert "--privileged" in said[-1]
