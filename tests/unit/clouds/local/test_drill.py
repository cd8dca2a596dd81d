from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from support.jobs import a_node
from trainrig.clouds.base import Account
from trainrig.clouds.local import drill
from trainrig.errors import CommandFailed


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((1, b"systemd-run: not found\n"), "systemd-run: not found"),
        ((137, b""), r"it went before it could be told \(exit code 137\)"),  # as when its container is killed meanwhile
        ((137, None), "it went before it could be told"),
    ],
)
def test_a_node_that_cannot_be_told_says_why(
    monkeypatch: pytest.MonkeyPatch, answer: tuple[int, bytes | None], told: str
) -> None:
    container = SimpleNamespace(exec_run=lambda _command: answer)
    client = SimpleNamespace(containers=SimpleNamespace(get=lambda _id: container))

    @contextmanager
    def connect() -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(client=client)

    monkeypatch.setattr(drill, "connect", connect)
    with pytest.raises(CommandFailed, match=f"^drill tr-.*: {told}"):
        drill.preempt(Account(cloud="local"), a_node(), notice=True)
