from __future__ import annotations

from pathlib import Path

import pytest

from trainrig.errors import PreflightFailed
from trainrig.lifecycle.context import opened
from trainrig.model.environment import Environment
from trainrig.store import db
from trainrig.store.journal import Journal

PAGE_BYTES = 4096


def test_a_journal_with_torn_pages_says_how_to_go_on_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINRIG_HOME", str(tmp_path))
    Journal(tmp_path).close()
    path = tmp_path / db.FILE
    content = path.read_bytes()
    path.write_bytes(content[:PAGE_BYTES] + b"\xa5" * (len(content) - PAGE_BYTES))
    with (
        pytest.raises(PreflightFailed, match="is damaged") as raised,
        opened(Environment(name="test", clouds=())) as context,
    ):
        context.journal.rigs()
    assert "trainrig destroy --run-id" in raised.value.hint
