"""No test of a cloud may reach one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.loopback import Loopback, forbid_network, serve


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_network(monkeypatch)


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with serve() as server:
        yield server
