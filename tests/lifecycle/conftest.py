from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import crash, stub_rigs
from support.cli import Ran, trainrig
from trainrig.clouds import registry
from trainrig.lifecycle.context import Context, opened


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The stub cloud, registered as third parties register theirs; its folder."""
    folder = tmp_path / "cloud"
    folder.mkdir()
    environment = tmp_path / "test.yaml"
    environment.write_text("name: test\nclouds:\n  stub: {}\n")
    monkeypatch.setenv("TRAINRIG_ENV", str(environment))
    monkeypatch.setenv("STUB_CLOUD", str(folder))
    monkeypatch.setenv("TRAINRIG_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(stub_rigs.PLUGINS))
    registry.forget()
    yield folder
    registry.forget()


@pytest.fixture
def context(stub: Path) -> Iterator[Context]:
    with opened(stub_rigs.ENVIRONMENT) as context:
        yield context


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], stub: Path) -> Callable[..., Ran]:
    """The command line, with the stub cloud as its environment."""
    return lambda *words: trainrig(capsys, *words)


@pytest.fixture
def site(stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[crash.Site]:
    """A machine whose processes can be hit, with this process as the one that comes after."""
    site = crash.site(tmp_path)
    monkeypatch.setenv("TRAINRIG_HOME", str(site.home))
    monkeypatch.setenv("PYTHONPATH", site.env["PYTHONPATH"])
    yield site
    site.end()
