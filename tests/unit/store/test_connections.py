"""Python 3.13 warns of a connection that nobody closed, and pytest makes an error of it, in whatever test is next."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from trainrig import assets
from trainrig.errors import PreflightFailed
from trainrig.store import catalog_index, db
from trainrig.store.catalog_index import CatalogIndex


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    connect = sqlite3.connect
    made: list[sqlite3.Connection] = []

    def noting(*args: Any, **options: Any) -> sqlite3.Connection:
        made.append(connect(*args, **options))
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", noting)
    return made


def are_closed(connections: list[sqlite3.Connection]) -> bool:
    for connection in connections:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")
    return bool(connections)


def test_a_damaged_catalogue_is_closed(tmp_path: Path, opened: list[sqlite3.Connection]) -> None:
    (tmp_path / catalog_index.FILE).write_bytes(b"no catalogue" * 1000)
    with CatalogIndex.open(tmp_path, assets.data("offers.csv")) as index:
        assert any(index.offers())
    assert are_closed(opened)
    assert len(opened) == 2


def test_a_catalogue_without_its_shipped_offers_is_closed(tmp_path: Path, opened: list[sqlite3.Connection]) -> None:
    with pytest.raises(FileNotFoundError):
        CatalogIndex.open(tmp_path, tmp_path / "absent.csv")
    assert are_closed(opened)


def test_a_damaged_journal_is_closed(tmp_path: Path, opened: list[sqlite3.Connection]) -> None:
    (tmp_path / db.FILE).write_bytes(b"no journal" * 1000)
    with pytest.raises(PreflightFailed, match="is damaged"):
        db.connect(tmp_path)
    assert are_closed(opened)
