"""The SQLite file that the journal and the ledger share: one a TRAINRIG_HOME, readable by its owner alone."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from trainrig.errors import PreflightFailed, StateTooNew
from trainrig.store.filesystem import shared_by_machines

FILE = "trainrig.db"
BUSY_SECONDS = 30

# One entry a schema version, applied in order; an entry that was released is never edited.
MIGRATIONS = (
    """
    CREATE TABLE rigs (
        run_id      TEXT PRIMARY KEY,
        name        TEXT NOT NULL,
        owner       TEXT NOT NULL,
        project     TEXT NOT NULL,
        environment TEXT NOT NULL,
        labels      TEXT NOT NULL CHECK (json_valid(labels)),
        expires_at  INTEGER NOT NULL,
        state       TEXT NOT NULL,
        clean       INTEGER NOT NULL DEFAULT 0 CHECK (clean IN (0, 1)),
        created_at  INTEGER NOT NULL,
        details     TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(details))
    ) STRICT;
    -- a name may come back once nothing of its last rig is left
    CREATE UNIQUE INDEX one_live_rig_a_name ON rigs (name) WHERE clean = 0;

    CREATE TABLE attempts (
        run_id         TEXT NOT NULL REFERENCES rigs (run_id),
        generation     INTEGER NOT NULL,
        number         INTEGER NOT NULL,
        cloud          TEXT NOT NULL,
        region         TEXT NOT NULL,
        zone           TEXT,
        instance_type  TEXT NOT NULL,
        market         TEXT NOT NULL,
        nodes          INTEGER NOT NULL,
        price_hour_usd TEXT NOT NULL,
        state          TEXT NOT NULL,
        fault          TEXT,
        reason         TEXT NOT NULL DEFAULT '',
        node_list      TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(node_list)),
        started_at     INTEGER NOT NULL,
        ended_at       INTEGER,
        PRIMARY KEY (run_id, generation, number)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE events (
        id     INTEGER PRIMARY KEY,
        at     INTEGER NOT NULL,
        run_id TEXT NOT NULL,
        kind   TEXT NOT NULL,
        data   TEXT NOT NULL CHECK (json_valid(data))
    ) STRICT;
    CREATE INDEX events_of_run ON events (run_id, id);
    CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
    CREATE TRIGGER events_remain BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

    CREATE TABLE cooldowns (
        id            INTEGER PRIMARY KEY,
        cloud         TEXT NOT NULL,
        region        TEXT NOT NULL,
        zone          TEXT,
        instance_type TEXT,
        gpu           TEXT,
        market        TEXT NOT NULL,
        reason        TEXT NOT NULL,
        until         INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE charges (
        run_id         TEXT NOT NULL,
        generation     INTEGER NOT NULL,
        number         INTEGER NOT NULL,
        nodes          INTEGER NOT NULL,
        price_hour_usd TEXT NOT NULL,
        started_at     INTEGER NOT NULL,
        ended_at       INTEGER,
        PRIMARY KEY (run_id, generation, number)
    ) STRICT, WITHOUT ROWID;
    """,
    """
    -- which of a cloud's several accounts
    ALTER TABLE attempts ADD COLUMN account TEXT NOT NULL DEFAULT '';
    ALTER TABLE cooldowns ADD COLUMN account TEXT;
    """,
    """
    -- a place that refuses a run again and again is one line, with the seconds that its earlier tries have cost
    ALTER TABLE attempts ADD COLUMN tries INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE charges ADD COLUMN before_seconds INTEGER NOT NULL DEFAULT 0;
    """,
)


def connect(home: Path) -> sqlite3.Connection:
    """An open, migrated database in autocommit mode; use `transaction` for more than one statement.

    Raises:
        StateTooNew: a newer trainrig has written it.
        PreflightFailed: it cannot be opened or written, or is damaged.
    """
    path = home / FILE
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            db.row_factory = sqlite3.Row
            _prepare(db, path)
        except BaseException:
            db.close()
            raise
    except (OSError, sqlite3.OperationalError) as error:
        raise PreflightFailed(
            f"cannot use {path}: {error}", hint="is the disk full, or TRAINRIG_HOME not writable?"
        ) from error
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        raise damaged(home, error) from error
    return db


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error says that the file is damaged, and not that we use it wrongly."""
    return error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def damaged(home: Path, error: sqlite3.Error) -> PreflightFailed:
    """What to do about a damaged file: the clouds know the rigs by their labels."""
    return PreflightFailed(
        f"{home / FILE} is damaged: {error}",
        hint=f"move {FILE} and {FILE}-* away; then trainrig sweep lists what the clouds have, and"
        " trainrig destroy --run-id ID removes it",
    )


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    # A write-ahead log is shared memory: machines that share the folder need the older journal, and its plain locks.
    db.execute(f"PRAGMA journal_mode = {'DELETE' if shared_by_machines(path.parent) else 'WAL'}")
    db.execute("PRAGMA synchronous = FULL")  # an intent must be on disk before the cloud hears of it
    db.execute("PRAGMA foreign_keys = ON")
    if _version(db) < len(MIGRATIONS):
        with transaction(db):
            for number, script in enumerate(MIGRATIONS[_version(db) :], start=_version(db) + 1):
                for statement in _statements(script):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {number}")
    if _version(db) > len(MIGRATIONS):
        db.close()
        raise StateTooNew(f"{path} was written by a newer trainrig", hint="update trainrig")


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; executescript would commit the transaction that they belong to."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, with the write lock taken at its start, so that two writers queue and never deadlock."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
