"""The offers on this machine, in SQLite: what ships with trainrig until a cloud is refreshed or imported.

A machine type is kept once, its offers beside it, so that hardware is checked on hundreds of types instead of 80,000
offers, and only the offers of types that fit are read.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Self

from trainrig.catalog import snapshot
from trainrig.catalog.query import EVERYTHING, Machine, OfferFilter
from trainrig.model.offer import Market, Offer
from trainrig.model.placement import CatalogStamp

FILE = "offers.db"
SHIPPED = "shipped"  # the source of what came with trainrig
VERSION = 3  # another one: the file is made anew, since all in it can be had again

SCHEMA = """
CREATE TABLE sources (
    cloud       TEXT PRIMARY KEY,
    source      TEXT NOT NULL,
    digest      TEXT NOT NULL,
    captured_at INTEGER,
    offers      INTEGER NOT NULL
);
CREATE TABLE machines (
    id             INTEGER PRIMARY KEY,
    cloud          TEXT NOT NULL,
    instance_type  TEXT NOT NULL,
    gpu            TEXT,
    gpu_count      INTEGER NOT NULL,
    gpu_memory_gib REAL,
    vcpus          REAL NOT NULL,
    memory_gib     REAL NOT NULL,
    local_disk_gb  INTEGER NOT NULL,
    offers         INTEGER NOT NULL
);
CREATE TABLE offers (
    machine     INTEGER NOT NULL REFERENCES machines (id),
    region      TEXT NOT NULL,
    zone        TEXT,
    market      TEXT NOT NULL,
    price       TEXT,
    captured_at INTEGER NOT NULL,
    source      TEXT NOT NULL,
    flags       TEXT NOT NULL
);
CREATE INDEX offers_of_machine ON offers (machine);
CREATE TABLE shipped (digest TEXT NOT NULL);
CREATE TABLE quotas (
    cloud   TEXT NOT NULL,
    region  TEXT NOT NULL,
    code    TEXT NOT NULL,
    unit    TEXT NOT NULL,
    market  TEXT NOT NULL,
    "limit" TEXT,
    used    TEXT,
    at      INTEGER NOT NULL,
    account TEXT NOT NULL,
    PRIMARY KEY (cloud, account, region, code)
);
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where a cloud's offers come from."""

    cloud: str
    source: str  # "shipped", "aws:api", "import skypilot vms.csv"
    digest: str
    captured_at: datetime | None  # of the oldest
    offers: int


class CatalogIndex:
    """Use as a context manager. One writer at a time, any number of readers."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    @property
    def db(self) -> sqlite3.Connection:
        """For what else is learnt from the clouds and can be had again: store/quota_cache.py."""
        return self._db

    @classmethod
    def open(cls, home: Path, shipped: Path) -> CatalogIndex:
        """The index under `home`, with the offers of the file `shipped` for clouds that have no others.

        A home that cannot be written is no obstacle: the shipped offers are then read into memory.
        """
        try:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
            index = cls(_connected(home / FILE))
        except (OSError, sqlite3.Error):
            index = cls(_connected(None))
        try:
            index._take_shipped(shipped)
        except BaseException:
            index.db.close()
            raise
        return index

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._db.close()

    def replace(self, cloud: str, source: str, offers: Iterable[Offer]) -> int:
        """Makes `offers` all that is known of a cloud, at once or not at all; returns how many there are.

        Of two offers for the same thing the dearer one is kept, so that no bill is higher than was said.
        """
        unique: dict[tuple[object, ...], Offer] = {}
        for o in offers:
            if o.cloud != cloud:
                raise ValueError(f"an offer of {o.cloud} among those of {cloud}")
            key = (o.region, o.zone, o.instance_type, o.gpu, o.gpu_count, o.market)
            known = unique.get(key)
            if known is None or (o.price_hour_usd or 0) > (known.price_hour_usd or 0):
                unique[key] = o
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._write(cloud, source, list(unique.values()))
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        return len(unique)

    def machines(self, wanted: OfferFilter = EVERYTHING) -> list[Machine]:
        """The machine types, without reading an offer."""
        rows = self._db.execute("SELECT * FROM machines")
        return [m for m in (Machine(*row) for row in rows) if wanted.admits_machine(m)]

    def offers(self, wanted: OfferFilter = EVERYTHING) -> Iterator[Offer]:
        """The offers that a filter admits, in no particular order."""
        machines = {m.id: m for m in self.machines(wanted)}
        rows = self._db.execute(
            "SELECT machine, region, zone, market, price, captured_at, source, flags FROM offers"
            " WHERE machine IN (SELECT value FROM json_each(?1))"
            " AND (?2 OR region IN (SELECT value FROM json_each(?3)))",
            (json.dumps(list(machines)), not wanted.regions, json.dumps(list(wanted.regions))),
        )
        for row in rows:
            offer = _offer(machines[row[0]], row)
            if wanted.admits(offer):
                yield offer

    def regions(self, machines: Iterable[Machine]) -> dict[int, dict[str, int]]:
        """How many offers of each machine there are in each region."""
        found: dict[int, dict[str, int]] = {}
        for machine, region, count in self._db.execute(
            "SELECT machine, region, COUNT(*) FROM offers WHERE machine IN (SELECT value FROM json_each(?))"
            " GROUP BY machine, region",
            (json.dumps([m.id for m in machines]),),
        ):
            found.setdefault(machine, {})[region] = count
        return found

    def sources(self) -> tuple[Source, ...]:
        """One a cloud, by name."""
        return tuple(
            Source(cloud=cloud, source=source, digest=digest, captured_at=_moment(captured_at), offers=offers)
            for cloud, source, digest, captured_at, offers in self._db.execute("SELECT * FROM sources ORDER BY cloud")
        )

    def stamp(self, now: datetime, clouds: Collection[str] = ()) -> CatalogStamp:
        """What the catalogue was. The age is that of the oldest price of `clouds`, or of all; the rest is of all."""
        found = self.sources()
        dates = [s.captured_at for s in found if s.captured_at and (not clouds or s.cloud in clouds)]
        oldest = min(dates, default=None)
        return CatalogStamp(
            digest=_digest(f"{s.cloud} {s.digest}" for s in found),
            captured_at=oldest,
            age_hours=None if oldest is None else round(max((now - oldest).total_seconds(), 0) / 3600, 1),
            offers=sum(s.offers for s in found),
        )

    def _take_shipped(self, path: Path) -> None:
        """Reads the shipped file when it is not the one read before. It never replaces what was refreshed."""
        text = path.read_text(encoding="utf-8")
        digest = _digest([text])
        if self._db.execute("SELECT 1 FROM shipped WHERE digest = ?", (digest,)).fetchone():
            return
        offers = list(snapshot.parse(text))
        for cloud in sorted({o.cloud for o in offers}):
            known = next((s for s in self.sources() if s.cloud == cloud), None)
            if known is None or known.source == SHIPPED:
                self.replace(cloud, SHIPPED, (o for o in offers if o.cloud == cloud))
        self._db.execute("DELETE FROM shipped")
        self._db.execute("INSERT INTO shipped VALUES (?)", (digest,))

    def _write(self, cloud: str, source: str, offers: list[Offer]) -> None:
        self._db.execute("DELETE FROM offers WHERE machine IN (SELECT id FROM machines WHERE cloud = ?)", (cloud,))
        self._db.execute("DELETE FROM machines WHERE cloud = ?", (cloud,))
        by_machine: dict[tuple[object, ...], list[Offer]] = {}
        for o in offers:
            by_machine.setdefault(_machine_row(o), []).append(o)
        for machine, its_offers in by_machine.items():
            cursor = self._db.execute(
                "INSERT INTO machines VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*machine, len(its_offers))
            )
            self._db.executemany(
                "INSERT INTO offers VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                ((cursor.lastrowid, *_offer_row(o)) for o in its_offers),
            )
        self._db.execute(
            "INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?)",
            (
                cloud,
                source,
                _digest(sorted(repr((_machine_row(o), _offer_row(o))) for o in offers)),
                min((int(o.captured_at.timestamp()) for o in offers), default=None),
                len(offers),
            ),
        )


def _connected(path: Path | None) -> sqlite3.Connection:
    db = sqlite3.connect(path or ":memory:", timeout=30, isolation_level=None)
    try:
        _prepare(db)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return
    db.execute("BEGIN IMMEDIATE")  # several processes may find it missing; the first makes it
    if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            db.execute(f"DROP TABLE {name}")
        for statement in SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")


def _machine_row(o: Offer) -> tuple[object, ...]:
    return (o.cloud, o.instance_type, o.gpu, o.gpu_count, o.gpu_memory_gib, o.vcpus, o.memory_gib, o.local_disk_gb)


def _offer_row(o: Offer) -> tuple[object, ...]:
    price = None if o.price_hour_usd is None else str(o.price_hour_usd)
    at = int(o.captured_at.timestamp())
    return (o.region, o.zone, o.market.value, price, at, o.source, " ".join(o.flags))


def _offer(m: Machine, row: tuple[int, str, str | None, str, str | None, int, str, str]) -> Offer:
    _machine, region, zone, market, price, captured_at, source, flags = row
    return Offer(
        cloud=m.cloud,
        region=region,
        zone=zone,
        instance_type=m.instance_type,
        gpu=m.gpu,
        gpu_count=m.gpu_count,
        gpu_memory_gib=m.gpu_memory_gib,
        vcpus=m.vcpus,
        memory_gib=m.memory_gib,
        market=Market(market),
        price_hour_usd=None if price is None else Decimal(price),
        captured_at=datetime.fromtimestamp(captured_at, UTC),
        source=source,
        local_disk_gb=m.local_disk_gb,
        flags=tuple(flags.split()),
    )


def _moment(timestamp: int | None) -> datetime | None:
    return None if timestamp is None else datetime.fromtimestamp(timestamp, UTC)


def _digest(lines: Iterable[str]) -> str:
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()
