from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import stub_rigs
from trainrig.clouds import registry
from trainrig.lifecycle.context import Context, opened


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The stub cloud, registered as third parties register theirs; its folder."""
    folder = tmp_path / "cloud"
    folder.mkdir()
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
