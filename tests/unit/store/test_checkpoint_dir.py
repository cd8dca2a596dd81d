from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from trainrig.errors import RigBusy
from trainrig.recovery.checkpoint import Manifest
from trainrig.store.checkpoint_dir import CheckpointDir

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> CheckpointDir:
    return CheckpointDir(tmp_path / "store")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "staging"
    (path / "sub").mkdir(parents=True)
    write(path, "a")
    (path / "sub" / "opt.bin").write_text("o")
    return path


def write(source: Path, text: str) -> None:
    """As rsync does: a new file under the old name."""
    temporary = source / ".new"
    temporary.write_text(text)
    temporary.replace(source / "model.bin")


def commit(store: CheckpointDir, source: Path, generation: int = 1) -> Manifest | None:
    return store.commit(source, run_id="r1", generation=generation, now=NOW)


def test_newest_is_what_was_committed_last(store: CheckpointDir, source: Path) -> None:
    commit(store, source)
    write(source, "b")
    second = commit(store, source)
    newest, skipped = store.newest()
    assert newest is not None
    assert newest.manifest == second
    assert skipped == []
    assert (newest.files / "model.bin").read_text() == "b"
    assert (newest.files / "sub" / "opt.bin").read_text() == "o"


def test_nothing_new_is_no_commit(store: CheckpointDir, source: Path, tmp_path: Path) -> None:
    assert commit(store, source) is not None
    assert commit(store, source) is None
    assert commit(store, tmp_path / "not there") is None


def test_a_tampered_checkpoint_is_skipped_and_said(store: CheckpointDir, source: Path) -> None:
    commit(store, source)
    write(source, "b")
    second = commit(store, source)
    assert second is not None
    (store.root / str(second.id) / "model.bin").write_text("evil")
    newest, skipped = store.newest()
    assert newest is not None
    assert newest.manifest.id.number == 1
    assert (newest.files / "model.bin").read_text() == "a"
    assert skipped == ["checkpoint 000001-000002: model.bin does not match its sha256"]


def test_files_without_a_manifest_are_no_checkpoint(store: CheckpointDir, source: Path) -> None:
    first = commit(store, source)
    assert first is not None
    (store.root / f"{first.id}.json").unlink()
    assert store.newest() == (None, [])
    again = commit(store, source)  # takes the place of the half-written one
    assert again is not None
    assert again.id == first.id


def test_a_fenced_generation_can_neither_commit_nor_take_over(store: CheckpointDir, source: Path) -> None:
    commit(store, source)
    store.fence(2)
    write(source, "zombie")
    with pytest.raises(RigBusy, match="may not write"):
        commit(store, source, generation=1)
    with pytest.raises(RigBusy, match="replaced by generation 2"):
        store.fence(1)
    assert commit(store, source, generation=2) is not None


def test_retention(store: CheckpointDir, source: Path) -> None:
    for text in "abcd":
        write(source, text)
        commit(store, source)
    store.prune(2)
    assert sorted(p.name for p in store.root.glob("0*")) == [
        "000001-000003",
        "000001-000003.json",
        "000001-000004",
        "000001-000004.json",
    ]
