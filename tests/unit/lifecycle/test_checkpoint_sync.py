"""Rounds of the copy that fail, and what is said of it."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from queue import Queue
from typing import cast

import pytest

from support.jobs import a_node
from trainrig.errors import CommandFailed, StoreFailed
from trainrig.lifecycle import checkpoint_sync, collect
from trainrig.lifecycle.checkpoint_courier import ThisMachine
from trainrig.lifecycle.checkpoint_sync import CheckpointSync
from trainrig.model.events import Event, Progress, silent
from trainrig.recovery.stores import CheckpointStore
from trainrig.store.checkpoint_dir import CheckpointDir
from trainrig.tools.ssh import Ssh

FULL = OSError(errno.ENOSPC, "No space left on device")
TORN = CommandFailed("tr-hello-0: 1 of 2 files differ")
AWAY = StoreFailed("the store does not answer")
NOTHING_NEW = None


def carried(tmp_path: Path, store: CheckpointStore) -> tuple[CheckpointStore, ThisMachine]:
    ssh = Ssh(rig=tmp_path, nodes=(a_node(),))
    return store, ThisMachine(ssh=ssh, store=store, run_id="abcd2345", staging=tmp_path / "staging")


@pytest.fixture
def sync(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CheckpointSync:
    monkeypatch.setattr(checkpoint_sync, "PAUSE_PER_ROUND", 0)
    sync = CheckpointSync(
        Ssh(rig=tmp_path, nodes=(a_node(),)),
        *carried(tmp_path, cast("CheckpointStore", None)),  # no round gets as far
        generation=1,
        checkpoints=None,
        observe=silent,
    )
    sync._pause = 0
    return sync


def said(monkeypatch: pytest.MonkeyPatch, sync: CheckpointSync, rounds: Sequence[Exception | None]) -> list[str]:
    """What is said while the rounds end so, one after the other; after one that did not fail there is something new."""
    events: list[Event] = []
    left = list(rounds)

    def copied(*_: object) -> int:
        how = left.pop(0)
        if not left:
            sync._stopped.set()
        if how is not None:
            raise how
        sync.looked_at(0, f"{len(left)} rounds are left")
        return 0

    monkeypatch.setattr(collect, "collect_checkpoints", copied)
    monkeypatch.setattr(sync, "_observe", events.append)
    sync.looked_at(0, "at first")
    sync.start()
    sync._thread.join()
    return [e.message for e in events if isinstance(e, Progress)]


@pytest.mark.parametrize(("text", "told"), [(b"3/4", Decimal("0.75")), (b"soon", None), (b"\xff", None), (None, None)])
def test_a_checkpoint_says_how_far_the_job_is_in_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: bytes | None, told: Decimal | None
) -> None:
    sync = CheckpointSync(
        Ssh(rig=tmp_path, nodes=(a_node(),)),
        *carried(tmp_path, CheckpointDir(tmp_path / "store")),
        generation=1,
        checkpoints=None,
        observe=silent,
    )

    def copied(_ssh: Ssh, target: Path, _observe: object) -> int:
        (target / "rank-1").mkdir(parents=True)
        (target / "rank-1" / "weights").write_bytes(b"w")
        if text is not None:
            (target / "rank-1" / "progress").write_bytes(text)
        return 1

    monkeypatch.setattr(collect, "collect_checkpoints", copied)
    monkeypatch.setattr(collect, "save_times", lambda _ssh, _since: (7.0, None))
    assert sync.commit_now()
    assert [save.progress for save in sync.saves] == [told]


@pytest.mark.parametrize("trouble", [FULL, TORN])
def test_copies_that_keep_failing_are_said_once(
    monkeypatch: pytest.MonkeyPatch, sync: CheckpointSync, trouble: Exception
) -> None:
    (words,) = said(monkeypatch, sync, [trouble] * 5)
    assert words == f"no checkpoint is safe now: {trouble}"


def test_a_checkpoint_in_the_making_is_no_news(monkeypatch: pytest.MonkeyPatch, sync: CheckpointSync) -> None:
    assert said(monkeypatch, sync, [TORN, TORN, NOTHING_NEW, TORN, TORN]) == []


def test_a_store_that_does_not_answer_is_said_at_once_and_again_when_it_comes_back(
    monkeypatch: pytest.MonkeyPatch, sync: CheckpointSync
) -> None:
    words = said(monkeypatch, sync, [AWAY, AWAY, NOTHING_NEW, AWAY])
    assert words == ["no checkpoint is safe now: the store does not answer"] * 2


def test_a_job_that_writes_nothing_costs_one_round_and_what_it_writes_then_is_copied(
    monkeypatch: pytest.MonkeyPatch, sync: CheckpointSync
) -> None:
    rounds: Queue[str] = Queue()

    def copied(*_: object) -> int:
        rounds.put("round")
        return 0

    monkeypatch.setattr(collect, "collect_checkpoints", copied)
    sync.start()
    sync.looked_at(0, "empty")
    rounds.get(timeout=10)
    sync.looked_at(0, "empty")
    assert not sync._news.is_set()
    for mark in ("a file", None):  # None: a node that was configured before nodes gave marks
        sync.looked_at(0, mark)
        rounds.get(timeout=10)
    sync.stop()
    assert rounds.empty()


def test_a_checkpoint_counts_although_older_ones_could_not_be_deleted(
    monkeypatch: pytest.MonkeyPatch, sync: CheckpointSync, tmp_path: Path
) -> None:
    def refused(_store: CheckpointDir, _keep: int) -> None:
        raise AWAY

    store, courier = carried(tmp_path, CheckpointDir(tmp_path / "store"))
    monkeypatch.setattr(sync, "_store", store)
    monkeypatch.setattr(sync, "_courier", courier)
    monkeypatch.setattr(CheckpointDir, "prune", refused)
    monkeypatch.setattr(collect, "save_times", lambda _ssh, _since: (7.0, None))
    monkeypatch.setattr(collect, "collect_checkpoints", lambda *_: 1)
    (tmp_path / "staging" / "rank-0").mkdir(parents=True)
    (tmp_path / "staging" / "rank-0" / "weights").write_bytes(b"w")
    with pytest.raises(StoreFailed):
        sync.commit_now()
    assert (sync.committed, [str(save.id) for save in sync.saves]) == (1, ["000001-000001"])
