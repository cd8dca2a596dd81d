"""What every store of checkpoints promises, held against a directory and against buckets. The buckets are emulators:
they answer conditional writes as the real ones do, and prove nothing about permissions."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support.buckets import BUCKETS, bucket
from support.checkpoint_places import RUN, Place, in_bucket, in_directory
from trainrig.errors import CommandFailed, RigBusy
from trainrig.recovery.checkpoint import FileEntry, Manifest
from trainrig.recovery.stores import CheckpointStore, Objects
from trainrig.store.checkpoint_bucket import CheckpointBucket
from trainrig.store.checkpoint_dir import scan

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module", params=["directory", *BUCKETS])
def kept_in(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if request.param == "directory":
        yield None
        return
    with bucket(request.param, tmp_path_factory.mktemp(request.param)) as (objects, _):
        yield objects


@pytest.fixture
def place(kept_in: Objects | None, tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    if kept_in is None:
        return in_directory(tmp_path / "store")
    return in_bucket(kept_in, f"runs/{request.node.name}", tmp_path)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "staging"
    (path / "rank-0" / "sub").mkdir(parents=True)
    (path / "rank-0" / "sub" / "opt.bin").write_text("o")
    write(path, "a")
    return path


def write(source: Path, text: str) -> None:
    """As rsync does: a new file under the old name."""
    temporary = source / ".new"
    temporary.write_text(text)
    temporary.replace(source / "rank-0" / "model.bin")


def commit(store: CheckpointStore, source: Path, generation: int = 1) -> Manifest | None:
    return store.commit(source, run_id=RUN, generation=generation, now=NOW)


def begun(place: Place, generation: int = 1) -> CheckpointStore:
    store = place.open()
    store.fence(generation)
    return store


def model(place: Place) -> tuple[str | None, list[str]]:
    """What another process resumes from, and what it passed over."""
    newest, skipped = place.open().newest()
    return (newest.files / "rank-0" / "model.bin").read_text() if newest else None, skipped


def test_another_process_resumes_from_what_was_committed_last(place: Place, source: Path) -> None:
    store = begun(place)
    assert model(place) == (None, [])
    first = commit(store, source)
    write(source, "b")
    second = commit(store, source)
    assert first is not None
    assert second is not None
    assert [str(first.id), str(second.id)] == ["000001-000001", "000001-000002"]
    newest, skipped = place.open().newest()
    assert newest is not None
    assert (newest.manifest, skipped) == (second, [])
    found = {p.relative_to(newest.files).as_posix(): p.read_text() for p in newest.files.rglob("*") if p.is_file()}
    assert found == {"rank-0/model.bin": "b", "rank-0/sub/opt.bin": "o"}


def test_links_and_times_come_back_since_jobs_find_their_newest_file_by_them(place: Place, source: Path) -> None:
    """`last.ckpt` is a link to many trainers, and others take what `getmtime` says is newest."""
    rank = source / "rank-0"
    os.utime(rank / "model.bin", ns=(1_700_000_000_123_456_789,) * 2)
    os.utime(rank / "sub" / "opt.bin", ns=(1_600_000_000_000_000_000,) * 2)
    (rank / "last").symlink_to("model.bin")
    (rank / "sub" / "away").symlink_to("/checkpoints/of another time")
    store = begun(place)
    commit(store, source)
    other = place.open()
    for _ in range(2):  # the second time it is there already
        newest, skipped = other.newest()
        assert newest is not None
        assert skipped == []
        found = newest.files / "rank-0"
        assert (found / "last").readlink() == Path("model.bin")
        assert (found / "sub" / "away").readlink() == Path("/checkpoints/of another time")
        assert (found / "model.bin").stat().st_mtime_ns == 1_700_000_000_123_456_789
        assert (found / "sub" / "opt.bin").stat().st_mtime_ns == 1_600_000_000_000_000_000
    assert commit(store, source) is None
    (rank / "last").unlink()
    (rank / "last").symlink_to("sub/opt.bin")
    second = commit(store, source)
    assert second is not None
    newest, _ = other.newest()
    assert newest is not None
    assert (newest.files / "rank-0" / "last").read_text() == "o"


def test_nothing_new_is_no_commit(place: Place, source: Path, tmp_path: Path) -> None:
    store = begun(place)
    assert commit(store, source) is not None
    assert commit(store, source) is None
    assert commit(place.open(), source) is None
    assert commit(store, tmp_path / "not there") is None


def test_what_did_not_change_is_kept_once(place: Place, source: Path) -> None:
    store = begun(place)
    commit(store, source)
    write(source, "b")
    commit(store, source)
    assert place.kept() == 3  # two models, one optimizer


def test_a_zombie_can_neither_commit_nor_take_over(place: Place, source: Path) -> None:
    zombie = begun(place)
    commit(zombie, source)
    heir = begun(place, 2)
    write(source, "zombie")
    with pytest.raises(RigBusy, match="may not write"):
        commit(zombie, source)
    with pytest.raises(RigBusy, match="replaced by generation 2"):
        zombie.fence(1)
    assert model(place) == ("a", [])
    write(source, "heir")
    manifest = commit(heir, source, 2)
    assert manifest is not None
    assert str(manifest.id) == "000002-000001"
    assert model(place) == ("heir", [])


def test_a_zombie_that_is_fenced_in_the_middle_of_its_commit(
    place: Place, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zombie = begun(place)
    commit(zombie, source)
    if not isinstance(zombie, CheckpointBucket):
        pytest.skip("a directory holds its lock during the whole commit")
    write(source, "zombie")
    upload = zombie._objects.upload

    def slow(*words: Any) -> None:
        begun(place, 2)
        upload(*words)

    monkeypatch.setattr(zombie._objects, "upload", slow)
    with pytest.raises(RigBusy, match="may not write"):
        commit(zombie, source)
    assert model(place) == ("a", [])
    assert place.kept() == 3  # its file is left,
    begun(place, 3)
    assert place.kept() == 2  # until the next generation looks


def test_files_that_nodes_have_brought_are_committed_without_passing_here(
    place: Place, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = begun(place)
    if not isinstance(store, CheckpointBucket):
        pytest.skip("nodes bring files to buckets alone")
    bring = store._objects.upload
    monkeypatch.setattr(store._objects, "upload", None)
    sent: list[set[str]] = []

    def send(missing: Mapping[str, FileEntry]) -> None:
        sent.append(set(missing))
        for path, file in missing.items():
            bring(store._file_key(file.sha256), source / path)

    def commit_sent() -> Manifest | None:
        return store.commit_sent(scan(source), send, run_id=RUN, generation=1, now=NOW)

    first = commit_sent()
    write(source, "b")
    second = commit_sent()
    assert commit_sent() is None
    assert sent == [{"rank-0/model.bin", "rank-0/sub/opt.bin"}, {"rank-0/model.bin"}]
    assert first
    assert second
    assert store.committed() == [(second.id, second, []), (first.id, first, [])]
    assert model(place) == ("b", [])

    place.lose(second, "rank-0/model.bin")
    place.tear(first)
    again = place.open()
    assert isinstance(again, CheckpointBucket)
    assert not again.has_one()
    assert again.committed() == [
        (second.id, second, ["rank-0/model.bin is missing"]),
        (first.id, None, ["its manifest is torn"]),
    ]


def test_a_file_that_nodes_could_not_bring_makes_no_checkpoint(place: Place, source: Path) -> None:
    store = begun(place)
    if not isinstance(store, CheckpointBucket):
        pytest.skip("nodes bring files to buckets alone")

    def send(_missing: object) -> None:
        raise CommandFailed("tr-hello-0: model.bin changed while it was sent")

    with pytest.raises(CommandFailed, match="changed while"):
        store.commit_sent(scan(source), send, run_id=RUN, generation=1, now=NOW)
    assert store.committed() == []


@pytest.mark.parametrize("harm", ["tamper", "lose"])
def test_a_file_that_differs_or_is_gone_passes_its_checkpoint_over(place: Place, source: Path, harm: str) -> None:
    store = begun(place)
    commit(store, source)
    write(source, "b")
    second = commit(store, source)
    assert second is not None
    getattr(place, harm)(second, "rank-0/model.bin")
    assert store.has_one()
    words = {"tamper": "does not match its sha256", "lose": "is missing"}[harm]
    assert model(place) == ("a", [f"checkpoint 000001-000002: rank-0/model.bin {words}"])


def test_a_torn_manifest_passes_its_checkpoint_over(place: Place, source: Path) -> None:
    store = begun(place)
    commit(store, source)
    write(source, "b")
    second = commit(store, source)
    assert second is not None
    place.tear(second)
    assert model(place) == ("a", ["checkpoint 000001-000002: its manifest is torn"])
    write(source, "c")
    assert commit(place.open(), source) is not None  # and the run goes on
    assert model(place) == ("c", [])


@pytest.mark.parametrize("harm", ["tamper", "lose"])
@pytest.mark.parametrize(("path", "harmed", "given"), [("model.bin", 1, "a"), ("sub/opt.bin", 2, None)])
def test_nothing_is_built_on_a_checkpoint_that_was_passed_over(
    place: Place, source: Path, harm: str, path: str, harmed: int, given: str | None
) -> None:
    store = begun(place)
    made = [commit(store, source)]
    write(source, "b")
    made.append(commit(store, source))
    for manifest in made[-harmed:]:
        assert manifest
        getattr(place, harm)(manifest, f"rank-0/{path}")

    store = begun(place, 2)
    newest, _ = store.newest()
    assert (newest is not None) == (given is not None)
    store.begin_with(newest.manifest.id if newest else None)
    assert commit(store, source, 2)  # the job has done the same again, bit for bit
    assert model(place) == ("b", [])
    again = place.open()  # of the same generation, after a kill
    assert commit(again, source, 2) is None
    write(source, "c")
    assert commit(again, source, 2)
    assert model(place) == ("c", [])


def test_retention_gives_up_the_oldest_and_their_content(place: Place, source: Path) -> None:
    store = begun(place)
    for text in "abcd":
        write(source, text)
        commit(store, source)
    assert [str(i) for i in store.prune(2)] == ["000001-000001", "000001-000002"]
    assert store.prune(2) == []
    assert place.kept() == 3  # two models and the optimizer that both have
    assert model(place) == ("d", [])


def test_content_that_comes_back_after_it_was_pruned_is_there(place: Place, source: Path) -> None:
    store = begun(place)
    for text in "aba":
        write(source, text)
        commit(store, source)
        store.prune(1)
    assert model(place) == ("a", [])


def test_two_writers_at_once_lose_nothing(place: Place, tmp_path: Path) -> None:
    begun(place)
    made: list[Manifest] = []

    def work(name: str) -> None:
        source, store = tmp_path / name, place.open()
        for number in range(5):
            (source / "rank-0").mkdir(parents=True, exist_ok=True)
            write(source, f"{name}{number}")
            manifest = commit(store, source)
            assert manifest is not None
            made.append(manifest)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(m.id.number for m in made) == list(range(1, 11))
    newest, skipped = place.open().newest()
    assert newest is not None
    assert (newest.manifest.id.number, skipped) == (10, [])


def test_a_kill_before_the_commit_leaves_what_was_there(
    place: Place, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = begun(place)
    commit(store, source)
    write(source, "b")
    monkeypatch.setattr("trainrig.recovery.checkpoint.Manifest.to_json", lambda _: 1 / 0)
    with suppress(ZeroDivisionError):
        commit(store, source)
    monkeypatch.undo()
    assert model(place) == ("a", [])
    assert commit(place.open(), source) is not None
    assert model(place) == ("b", [])


def test_a_probe_disturbs_nothing_and_leaves_nothing(place: Place, source: Path) -> None:
    place.open().probe()
    assert place.open().newest() == (None, [])
    store = begun(place)
    commit(store, source)
    store.probe()
    assert model(place) == ("a", [])
    assert place.kept() == 2
