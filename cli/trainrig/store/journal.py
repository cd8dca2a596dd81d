"""The journal: which rigs there are, what was tried for each, and everything that happened, in order.

A rig's identity is written before the first call to a cloud. Whatever is killed after that, the rig's labels are known
and `destroy` can find all of it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any

from trainrig.errors import RigBusy, RigUnknown
from trainrig.model.clock import Clock, utc_now
from trainrig.model.fault import FaultClass
from trainrig.model.node import Node
from trainrig.model.offer import Market
from trainrig.model.placement import Candidate
from trainrig.model.rig import RigIdentity, RigState
from trainrig.store import db

REFUSALS = (FaultClass.CAPACITY, FaultClass.QUOTA)  # after which the next place is tried, and this one later


class AttemptState(StrEnum):
    INTENDED = "intended"  # written down, nothing asked of the cloud yet
    APPLYING = "applying"
    UP = "up"
    ROLLING_BACK = "rolling_back"
    GONE = "gone"  # proven: nothing of it is left
    UNSURE = "unsure"  # something of it may be left

    @property
    def may_bill(self) -> bool:
        return self not in {AttemptState.INTENDED, AttemptState.GONE}


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    run_id: str
    generation: int
    number: int  # from 1 within a generation
    cloud: str
    region: str
    zone: str | None
    instance_type: str
    market: Market
    nodes: int
    price_hour_usd: Decimal  # agreed, of one node
    state: AttemptState
    fault: FaultClass | None
    reason: str  # what it failed on, in words
    node_list: tuple[Node, ...]
    started_at: datetime
    ended_at: datetime | None
    account: str = ""  # which of the cloud's several accounts
    tries: int = 1  # this one, and those before it in the generation that the same place refused at the same price


@dataclass(frozen=True, kw_only=True, slots=True)
class Rig:
    identity: RigIdentity
    state: RigState
    clean: bool  # proven: nothing of it is left in any cloud
    created_at: datetime
    details: Mapping[str, Any]  # what its verbs keep: job name, digests, the price ceiling

    @property
    def waits(self) -> bool:
        """Its run is on the queue, and no worker has begun it."""
        return bool(self.details.get("queued")) and self.details.get("begun_at") is None

    @property
    def begun_at(self) -> datetime:
        """When its run was taken from the queue; for all others, when they were written down."""
        at = self.details.get("begun_at")
        return self.created_at if at is None else _moment(at)

    @property
    def name(self) -> str:
        return self.identity.name

    @property
    def run_id(self) -> str:
        return self.identity.run_id


@dataclass(frozen=True, kw_only=True, slots=True)
class Happening:
    """One line of the journal."""

    at: datetime
    kind: str
    data: Mapping[str, Any]


class Journal:
    def __init__(self, home: Path, *, now: Clock = utc_now) -> None:
        self.home = home
        self._now = now
        self.db = db.connect(home)

    def close(self) -> None:
        self.db.close()

    def intend(self, identity: RigIdentity, *, details: Mapping[str, Any]) -> Rig:
        """Writes a new rig down, before anything is asked of a cloud. The same identity again is the same rig.

        Raises:
            RigBusy: the name belongs to a rig that is not proven gone.
        """
        try:
            with db.transaction(self.db):
                self.db.execute(
                    "INSERT INTO rigs (run_id, name, owner, project, environment, labels, expires_at, state,"
                    " created_at, details) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id) DO NOTHING",
                    (
                        identity.run_id,
                        identity.name,
                        identity.owner,
                        identity.project,
                        identity.environment,
                        json.dumps(dict(identity.labels)),
                        _seconds(identity.expires_at),
                        RigState.PLANNED,
                        _seconds(self._now()),
                        json.dumps(dict(details)),
                    ),
                )
                self._append(identity.run_id, "intended", details)
        except sqlite3.IntegrityError:
            holder = self.find(identity.name)
            raise RigBusy(
                f"{identity.name!r} is the name of a rig that may still exist (run {holder.run_id}, {holder.state})",
                hint=f"trainrig destroy {identity.name}, or give this one another name with --set name=...",
                details={"run_id": holder.run_id},
            ) from None
        return self.rig(identity.run_id)

    def rig(self, run_id: str) -> Rig:
        """Raises RigUnknown."""
        row = self.db.execute("SELECT * FROM rigs WHERE run_id = ?", (run_id,)).fetchone()
        if row is None:
            raise RigUnknown(f"no rig has the run id {run_id!r}", hint="trainrig status lists the rigs of this machine")
        return _rig(row)

    def find(self, name_or_run_id: str) -> Rig:
        """By run id, or by name: the live rig of that name, else the last one. Raises RigUnknown."""
        row = self.db.execute(
            "SELECT * FROM rigs WHERE run_id = :key OR name = :key ORDER BY run_id = :key DESC, clean, created_at DESC",
            {"key": name_or_run_id},
        ).fetchone()
        if row is None:
            raise RigUnknown(f"there is no rig {name_or_run_id!r}", hint="trainrig status lists the rigs")
        return _rig(row)

    def rigs(self, *, all_rigs: bool = False) -> tuple[Rig, ...]:
        """Those that may still exist, or all there ever were; newest first."""
        rows = self.db.execute(
            "SELECT * FROM rigs WHERE clean = 0 OR ? ORDER BY created_at DESC, run_id", (all_rigs,)
        ).fetchall()
        return tuple(_rig(r) for r in rows)

    def set_state(self, run_id: str, state: RigState, *, clean: bool = False, reason: str = "") -> None:
        """`clean` is said by those alone who have looked: nothing of the rig is left."""
        with db.transaction(self.db):
            self.db.execute("UPDATE rigs SET state = ?, clean = ? WHERE run_id = ?", (state, clean, run_id))
            self._append(run_id, "state", {"state": state, "clean": clean, "reason": reason})

    def set_expiry(self, run_id: str, expires_at: datetime) -> None:
        with db.transaction(self.db):
            self.db.execute("UPDATE rigs SET expires_at = ? WHERE run_id = ?", (_seconds(expires_at), run_id))
            self._append(run_id, "expiry", {"expires_at": _seconds(expires_at)})

    def begin(self, run_id: str, expires_at: datetime) -> None:
        """A run that waited is taken: its lease ends then, and its clock starts now. Beginning twice is once."""
        with db.transaction(self.db):
            now = _seconds(self._now())
            taken = self.db.execute(
                "UPDATE rigs SET expires_at = ?, details = json_patch(details, ?)"
                " WHERE run_id = ? AND json_extract(details, '$.begun_at') IS NULL",
                (_seconds(expires_at), json.dumps({"begun_at": now}), run_id),
            )
            if taken.rowcount:
                self._append(run_id, "begun", {"expires_at": _seconds(expires_at)})

    def update_details(self, run_id: str, **details: Any) -> None:
        with db.transaction(self.db):
            self.db.execute(
                "UPDATE rigs SET details = json_patch(details, ?) WHERE run_id = ?", (json.dumps(details), run_id)
            )

    def append(self, run_id: str, kind: str, data: Mapping[str, Any]) -> None:
        """Adds a line; lines are never changed."""
        self._append(run_id, kind, data)

    def happenings(self, run_id: str, kinds: Sequence[str] = ()) -> tuple[Happening, ...]:
        """All of a run, in order; of these kinds alone where some are named."""
        rows = self.db.execute(
            "SELECT * FROM events WHERE run_id = ? AND (? OR kind IN (SELECT value FROM json_each(?))) ORDER BY id",
            (run_id, not kinds, json.dumps(list(kinds))),
        ).fetchall()
        return tuple(Happening(at=_moment(r["at"]), kind=r["kind"], data=json.loads(r["data"])) for r in rows)

    def start_attempt(self, run_id: str, generation: int, candidate: Candidate) -> Attempt:
        """Writes the next attempt of a generation down as intended. Where the same place has refused the generation
        before, the line of that try, of which nothing is left, becomes this one's, and so does its charge: a run that
        waits for machines has a line a place and not one a try."""
        offer = candidate.offer
        with db.transaction(self.db):
            (last,) = self.db.execute(
                "SELECT coalesce(max(number), 0) FROM attempts WHERE run_id = ? AND generation = ?",
                (run_id, generation),
            ).fetchone()
            if self._take_again(run_id, generation, candidate, last + 1):
                return self.attempt(run_id, generation, last + 1)
            self.db.execute(
                "INSERT INTO attempts (run_id, generation, number, cloud, region, zone, instance_type, market, nodes,"
                " price_hour_usd, state, started_at, account) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    run_id,
                    generation,
                    last + 1,
                    offer.cloud,
                    offer.region,
                    offer.zone,
                    offer.instance_type,
                    offer.market,
                    candidate.nodes,
                    str(offer.price_hour_usd or 0),
                    AttemptState.INTENDED,
                    _seconds(self._now()),
                    candidate.account,
                ),
            )
        return self.attempt(run_id, generation, last + 1)

    def _take_again(self, run_id: str, generation: int, candidate: Candidate, number: int) -> bool:
        offer = candidate.offer
        before = self.db.execute(
            "SELECT number FROM attempts WHERE (run_id, generation, cloud, account, region, instance_type, market,"
            " nodes, price_hour_usd, state) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) AND zone IS ? AND fault IN (?, ?)",
            (
                run_id,
                generation,
                offer.cloud,
                candidate.account,
                offer.region,
                offer.instance_type,
                offer.market,
                candidate.nodes,
                str(offer.price_hour_usd or 0),
                AttemptState.GONE,
                offer.zone,
                *REFUSALS,
            ),
        ).fetchone()
        if before is None:
            return False
        key = (run_id, generation, before["number"])
        self.db.execute(
            "UPDATE attempts SET number = ?, tries = tries + 1, state = ?, fault = NULL, reason = '', started_at = ?,"
            " ended_at = NULL WHERE (run_id, generation, number) = (?, ?, ?)",
            (number, AttemptState.INTENDED, _seconds(self._now()), *key),
        )
        self.db.execute("UPDATE charges SET number = ? WHERE (run_id, generation, number) = (?, ?, ?)", (number, *key))
        return True

    def attempt(self, run_id: str, generation: int, number: int) -> Attempt:
        row = self.db.execute(
            "SELECT * FROM attempts WHERE run_id = ? AND generation = ? AND number = ?", (run_id, generation, number)
        ).fetchone()
        if row is None:
            raise RigUnknown(f"run {run_id} has no attempt {generation}-{number}")
        return _attempt(row)

    def attempts(self, run_id: str) -> tuple[Attempt, ...]:
        rows = self.db.execute(
            "SELECT * FROM attempts WHERE run_id = ? ORDER BY generation, number", (run_id,)
        ).fetchall()
        return tuple(_attempt(r) for r in rows)

    def update_attempt(
        self,
        attempt: Attempt,
        state: AttemptState,
        *,
        fault: FaultClass | None = None,
        reason: str = "",
        nodes: Sequence[Node] | None = None,
    ) -> Attempt:
        """A fault and a reason stay once they are known; GONE ends the attempt. What a place that is tried again has
        refused is one line of the journal."""
        key = (attempt.run_id, attempt.generation, attempt.number)
        with db.transaction(self.db):
            self.db.execute(
                "UPDATE attempts SET state = ?, fault = coalesce(?, fault), reason = coalesce(nullif(?, ''), reason),"
                " node_list = coalesce(?, node_list), ended_at = CASE WHEN ? THEN coalesce(ended_at, ?) END"
                " WHERE run_id = ? AND generation = ? AND number = ?",
                (
                    state,
                    fault,
                    reason,
                    None if nodes is None else json.dumps([asdict(n) for n in nodes]),
                    state is AttemptState.GONE,
                    _seconds(self._now()),
                    *key,
                ),
            )
            if attempt.tries == 1 or fault or state not in {AttemptState.APPLYING, AttemptState.GONE}:
                self._append(
                    attempt.run_id,
                    "attempt",
                    {
                        "generation": attempt.generation,
                        "number": attempt.number,
                        "state": state,
                        "fault": fault,
                        "reason": reason,
                    },
                )
        return self.attempt(*key)

    def _append(self, run_id: str, kind: str, data: Mapping[str, Any]) -> None:
        self.db.execute(
            "INSERT INTO events (at, run_id, kind, data) VALUES (?, ?, ?, ?)",
            (_seconds(self._now()), run_id, kind, json.dumps(dict(data))),
        )


def _rig(row: sqlite3.Row) -> Rig:
    return Rig(
        identity=RigIdentity(
            name=row["name"],
            run_id=row["run_id"],
            owner=row["owner"],
            project=row["project"],
            environment=row["environment"],
            expires_at=_moment(row["expires_at"]),
            labels=json.loads(row["labels"]),
        ),
        state=RigState(row["state"]),
        clean=bool(row["clean"]),
        created_at=_moment(row["created_at"]),
        details=json.loads(row["details"]),
    )


def _attempt(row: sqlite3.Row) -> Attempt:
    return Attempt(
        run_id=row["run_id"],
        generation=row["generation"],
        number=row["number"],
        cloud=row["cloud"],
        region=row["region"],
        zone=row["zone"],
        instance_type=row["instance_type"],
        market=Market(row["market"]),
        nodes=row["nodes"],
        price_hour_usd=Decimal(row["price_hour_usd"]),
        state=AttemptState(row["state"]),
        fault=FaultClass(row["fault"]) if row["fault"] else None,
        reason=row["reason"],
        node_list=tuple(Node(**n) for n in json.loads(row["node_list"])),
        started_at=_moment(row["started_at"]),
        ended_at=_moment(row["ended_at"]) if row["ended_at"] is not None else None,
        account=row["account"],
        tries=row["tries"],
    )


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
