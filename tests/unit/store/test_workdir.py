from __future__ import annotations

import stat
from pathlib import Path

import pytest

from support.rigs import identity
from trainrig.store.workdir import RigDir, write_atomic, write_tree


def test_a_rig_has_a_private_folder_named_after_it(tmp_path: Path) -> None:
    folder = RigDir.of(tmp_path, identity(name="../Evil Name"))
    folder.create()
    assert folder.path == tmp_path / "rigs" / "evil-name-abcd2345"
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert folder.attempt(2, 3).name == "2-3"


def test_files_are_private_and_whole(tmp_path: Path) -> None:
    write_tree(tmp_path / "root", {"main.tf": "x", "module/rig.tf": "y"})
    assert (tmp_path / "root/module/rig.tf").read_text() == "y"
    assert stat.S_IMODE((tmp_path / "root/main.tf").stat().st_mode) == 0o600


def test_a_write_that_fails_leaves_the_old_content_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "state"
    write_atomic(target, b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomic(target, b"new")
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["state"]
