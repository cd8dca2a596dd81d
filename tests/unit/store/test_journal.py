from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from support.rigs import NOW, candidate, identity, node
from trainrig.errors import PreflightFailed, RigBusy, RigUnknown, StateTooNew
from trainrig.model.fault import FaultClass
from trainrig.model.rig import RigState
from trainrig.store import db
from trainrig.store.journal import AttemptState, Journal


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path, now=lambda: NOW)
    yield journal
    journal.close()


def test_an_identity_comes_back_as_it_went_in(journal: Journal) -> None:
    journal.intend(identity(), details={"job": "finetune"})
    assert journal.find("finetune").identity == identity()
    assert journal.find("abcd2345").identity == identity()


def test_a_file_that_is_no_journal_says_how_to_go_on_without(tmp_path: Path) -> None:
    (tmp_path / db.FILE).write_bytes(b"no journal" * 1000)
    with pytest.raises(PreflightFailed, match="is damaged") as raised:
        Journal(tmp_path)
    assert "trainrig sweep" in raised.value.hint


def test_intending_the_same_rig_twice_is_intending_it_once(journal: Journal) -> None:
    journal.intend(identity(), details={})
    journal.intend(identity(), details={})
    assert len(journal.rigs()) == 1


def test_a_name_is_taken_until_its_rig_is_proven_gone(journal: Journal) -> None:
    journal.intend(identity(run_id="first222"), details={})
    with pytest.raises(RigBusy, match="first222"):
        journal.intend(identity(run_id="second22"), details={})
    journal.set_state("first222", RigState.FAILED)
    with pytest.raises(RigBusy):
        journal.intend(identity(run_id="second22"), details={})
    journal.set_state("first222", RigState.DESTROYED, clean=True)
    journal.intend(identity(run_id="second22"), details={})
    assert journal.find("finetune").run_id == "second22"
    assert [r.run_id for r in journal.rigs()] == ["second22"]
    assert {r.run_id for r in journal.rigs(all_rigs=True)} == {"first222", "second22"}


def test_an_unknown_rig_is_named(journal: Journal) -> None:
    with pytest.raises(RigUnknown, match="nobody"):
        journal.find("nobody")


def test_attempts_count_up_within_a_generation(journal: Journal) -> None:
    journal.intend(identity(), details={})
    first = journal.start_attempt("abcd2345", 1, candidate(zone="z-a"))
    second = journal.start_attempt("abcd2345", 1, candidate(zone="z-b"))
    third = journal.start_attempt("abcd2345", 2, candidate(zone="z-c"))
    assert [(a.generation, a.number, a.zone) for a in journal.attempts("abcd2345")] == [
        (1, 1, "z-a"),
        (1, 2, "z-b"),
        (2, 1, "z-c"),
    ]
    assert {a.state for a in (first, second, third)} == {AttemptState.INTENDED}


def test_an_attempt_keeps_its_account(journal: Journal) -> None:
    journal.intend(identity(), details={})
    of_the_only_one = journal.start_attempt("abcd2345", 1, candidate())
    named = journal.start_attempt("abcd2345", 1, replace(candidate(), account="grant"))
    assert (of_the_only_one.account, named.account) == ("", "grant")


def test_what_an_attempt_failed_on_outlives_its_rollback(journal: Journal) -> None:
    journal.intend(identity(), details={})
    attempt = journal.start_attempt("abcd2345", 1, candidate())
    journal.update_attempt(attempt, AttemptState.ROLLING_BACK, fault=FaultClass.CAPACITY, reason="no A100 there")
    ended = journal.update_attempt(attempt, AttemptState.GONE)
    assert (ended.fault, ended.reason, ended.ended_at) == (FaultClass.CAPACITY, "no A100 there", NOW)


def test_nodes_come_back_as_they_went_in(journal: Journal) -> None:
    journal.intend(identity(), details={})
    attempt = journal.start_attempt("abcd2345", 1, candidate(2))
    up = journal.update_attempt(attempt, AttemptState.UP, nodes=[node(0), node(1)])
    assert up.node_list == (node(0), node(1))


def test_events_are_append_only(journal: Journal) -> None:
    journal.intend(identity(), details={})
    for statement in ("UPDATE events SET kind = 'x'", "DELETE FROM events"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            journal.db.execute(statement)
    assert [h.kind for h in journal.happenings("abcd2345")] == ["intended"]


def test_only_the_owner_can_read_it(journal: Journal) -> None:
    assert stat.S_IMODE((journal.home / db.FILE).stat().st_mode) == 0o600


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path).close()
    newer = sqlite3.connect(tmp_path / db.FILE)
    newer.execute(f"PRAGMA user_version = {len(db.MIGRATIONS) + 1}")
    newer.close()
    with pytest.raises(StateTooNew):
        Journal(tmp_path)


def test_an_older_file_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(db, "MIGRATIONS", db.MIGRATIONS[:1])
        old = db.connect(tmp_path)
        old.execute("INSERT INTO rigs VALUES ('abcd2345', 'n', 'o', 'p', 'e', '{}', 1, 'running', 0, 1, '{}')")
        old.execute(
            "INSERT INTO attempts (run_id, generation, number, cloud, region, instance_type, market, nodes,"
            " price_hour_usd, state, started_at) VALUES ('abcd2345', 1, 1, 'aws', 'r', 't', 'spot', 1, '1', 'up', 1)"
        )
        old.close()
    journal = Journal(tmp_path)
    (attempt,) = journal.attempts("abcd2345")
    journal.close()
    assert (attempt.cloud, attempt.account) == ("aws", "")


def test_a_failed_transaction_leaves_nothing(journal: Journal) -> None:
    def half() -> None:
        with db.transaction(journal.db):
            journal.append("abcd2345", "half", {})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert journal.happenings("abcd2345") == ()


def test_machines_that_share_the_folder_share_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mode() -> str:
        connection = db.connect(tmp_path)
        found: str = connection.execute("PRAGMA journal_mode").fetchone()[0]
        connection.close()
        return found

    assert mode() == "wal"
    monkeypatch.setattr(db, "shared_by_machines", lambda _folder: True)
    assert mode() == "delete"


def test_a_place_that_refuses_again_is_one_line(journal: Journal) -> None:
    """Those of another price or fault, of what came up, and of another generation stay lines of their own."""
    journal.intend(identity(), details={})
    dear = candidate(price_hour_usd=Decimal(99))
    tried = (
        (2, candidate(), FaultClass.CAPACITY),
        (2, dear, FaultClass.CAPACITY),
        (2, candidate(), FaultClass.QUOTA),
        (3, candidate(), FaultClass.CAPACITY),
        (2, candidate(), FaultClass.EVENTUAL),
        (2, candidate(), None),
        (2, dear, None),
    )
    for generation, place, fault in tried:
        attempt = journal.start_attempt("abcd2345", generation, place)
        assert (attempt.state, attempt.fault, attempt.reason) == (AttemptState.INTENDED, None, "")
        if fault:
            attempt = journal.update_attempt(attempt, AttemptState.ROLLING_BACK, fault=fault, reason="none is free")
            journal.update_attempt(attempt, AttemptState.GONE)
        else:
            journal.update_attempt(attempt, AttemptState.UP)
    lines = [(a.generation, a.number, a.tries, a.fault) for a in journal.attempts("abcd2345")]
    assert lines == [
        (2, 4, 3, FaultClass.EVENTUAL),
        (2, 5, 1, None),
        (2, 6, 2, None),
        (3, 1, 1, FaultClass.CAPACITY),
    ]
    said = [(h.data["number"], h.data["state"]) for h in journal.happenings("abcd2345", ("attempt",))]
    assert said.count((3, AttemptState.ROLLING_BACK)) == 1
    assert (3, AttemptState.GONE) not in said  # what a place has refused again is one line
    assert said[-1] == (6, AttemptState.UP)
