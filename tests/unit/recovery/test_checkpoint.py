from __future__ import annotations

import pytest

from trainrig.recovery.checkpoint import (
    CheckpointId,
    Entry,
    FileEntry,
    LinkEntry,
    Manifest,
    best_interval_minutes,
    to_prune,
    unchanged,
)

FILES: dict[str, Entry] = {
    "last": LinkEntry(target="model.npz"),
    "model.npz": FileEntry(sha256="aa", size=3, modified_ns=1_700_000_000_000_000_001),
    "sub/opt.npz": FileEntry(sha256="bb", size=4),
}
MANIFEST = Manifest(
    id=CheckpointId(generation=2, number=7), run_id="abc", created_at="2026-01-01T00:00:00Z", files=FILES
)


def test_manifest_survives_json() -> None:
    found = Manifest.from_json(MANIFEST.to_json())
    assert found == MANIFEST
    assert isinstance(model := found.files["model.npz"], FileEntry)
    assert model.modified_ns == 1_700_000_000_000_000_001


def test_a_manifest_from_before_links_and_times_is_read() -> None:
    text = MANIFEST.to_json().replace(' "last": {\n   "link": "model.npz"\n  },', "").replace("modified_ns", "other")
    found = Manifest.from_json(text)
    assert found is not None
    assert found.files == {path: entry for path, entry in FILES.items() if path != "last"}


@pytest.mark.parametrize("path", ["/etc/passwd", "../../.ssh/authorized_keys", "a/../../b", ""])
def test_a_manifest_that_reaches_outside_is_none(path: str) -> None:
    assert Manifest.from_json(MANIFEST.to_json().replace("sub/opt.npz", path)) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema": "other/1"}', MANIFEST.to_json()[:-30]])
def test_a_torn_manifest_is_none(text: str) -> None:
    assert Manifest.from_json(text) is None


def test_faults_name_missing_and_changed_files() -> None:
    assert MANIFEST.faults(FILES) == []
    assert MANIFEST.faults({**FILES, "extra": FileEntry(sha256="cc", size=1)}) == []
    assert MANIFEST.faults({"last": LinkEntry(target="a"), "model.npz": FileEntry(sha256="xx", size=3)}) == [
        "sub/opt.npz is missing",
        "last is another link",
        "model.npz does not match its sha256",
    ]


def test_a_later_generation_wins_over_a_higher_number() -> None:
    ids = [CheckpointId(generation=1, number=99), CheckpointId(generation=2, number=1)]
    assert max(ids).generation == 2
    assert CheckpointId.parse(str(ids[0])) == ids[0]
    assert CheckpointId.parse("manifest.json") is None


def test_retention_keeps_the_newest_and_never_all_go() -> None:
    ids = [CheckpointId(generation=1, number=n) for n in (3, 1, 2)]
    assert [i.number for i in to_prune(ids, 2)] == [1]
    assert [i.number for i in to_prune(ids, 0)] == [1, 2]


def test_unchanged() -> None:
    assert unchanged(MANIFEST, dict(FILES))
    assert not unchanged(None, FILES)


def test_interval_is_dalys() -> None:
    # 60 s to save, 2 h between preemptions: Young gives sqrt(2 * 60 * 7200) = 929.5 s; Daly's terms and -60 s follow.
    assert best_interval_minutes(60, 2) == pytest.approx(
        (929.516 * (1 + 0.0645497 / 3 + 0.00416667 / 9) - 60) / 60, abs=1e-3
    )
    assert best_interval_minutes(100_000, 1) == 60
