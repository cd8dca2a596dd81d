"""Rigs, drift and sweeps for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from trainrig.model.clock import iso
from trainrig.model.money import dollars
from trainrig.model.status import AttemptStatus, Drift, RigStatus, SweepResult, Work
from trainrig.reports.table import Row, table

SEEN = {True: "yes", False: "NO", None: "not asked"}


def rigs(found: Sequence[RigStatus], now: datetime) -> str:
    """One line a rig, then what must be said about some of them."""
    if not found:
        return "no rigs"
    rows: list[Row] = [("rig", "run id", "state", "where", "market", "nodes", "cost", "lease")]
    for r in found:
        at = r.current
        where = f"{at.cloud} {at.zone or at.region}" if at else ""
        market, nodes = (at.market.value, str(len(r.nodes))) if at else ("", "")
        lease = "" if r.clean else remaining(r.expires_at - now)
        rows.append((r.name, r.run_id, r.state.value, where, market, nodes, dollars(r.cost_usd), lease))
    notes = [f"{r.name}: {n}" for r in found for n in _notes(r)]
    return "\n".join([*table(rows, indent=""), *([""] if notes else []), *notes])


def _notes(rig: RigStatus) -> list[str]:
    far = [] if rig.work is None else [work(rig.work)]
    return [*([f"in use by {rig.holder}"] if rig.holder else []), *far, *rig.notes]


def work(found: Work) -> str:
    """`42 % done, 3h 20m of work left`: what is safe in checkpoints."""
    done = f"{_hours(found.done_hours)} of work is safe"
    if found.done_share is not None:
        done = f"{found.done_share:.0%} is done".replace("%", " %")
    return done if found.left_hours is None else f"{done}, {_hours(found.left_hours)} of work left"


def _hours(hours: Decimal) -> str:
    return remaining(timedelta(hours=float(hours)))


def attempts(found: Sequence[AttemptStatus]) -> str:
    rows: list[Row] = [("attempt", "where", "machine", "market", "state", "time", "lost", "cost", "why it ended")]
    for a in found:
        where = f"{a.cloud} {a.zone or a.region}"
        machine = f"{a.nodes} x {a.instance_type}"
        failed = f"{a.fault.value}: {a.reason}" if a.fault else a.reason
        failed = ", ".join(filter(None, (f"try {a.tries}" if a.tries > 1 else "", failed)))
        spent = remaining(timedelta(seconds=a.seconds))
        lost = "" if a.lost_seconds is None else remaining(timedelta(seconds=a.lost_seconds))
        name, cost = f"{a.generation}-{a.number}", dollars(a.cost_usd)
        rows.append((name, where, machine, a.market.value, a.state, spent, lost, cost, failed))
    return "\n".join(table(rows))


def costs(found: Sequence[RigStatus]) -> str:
    """Each rig's attempts with what they cost and lost, their sum, and how often its job should save."""
    parts = []
    for r in found:
        lost = sum(a.lost_seconds or 0 for a in r.attempts)
        total = f"{r.name}: {dollars(r.cost_usd)}; {remaining(timedelta(seconds=lost))} of work was lost"
        parts.append("\n".join([total, attempts(r.attempts), *([r.checkpoint_advice] if r.checkpoint_advice else [])]))
    return "\n\n".join(parts)


def nodes(rig: RigStatus, differs: Sequence[Drift] = ()) -> str:
    """`differs`: a machine that a cloud still lists, and that no longer runs, is in there."""
    stopped = {d.id for d in differs if d.kind in {"preempted", "gone"}}
    rows: list[Row] = [("rank", "name", "address", "id", "in the cloud")]
    for n in rig.nodes:
        address = f"{n.node.ssh_address}:{n.node.ssh_port}"
        seen = "yes, but it does not run" if n.seen and n.node.instance_id in stopped else SEEN[n.seen]
        rows.append((str(n.node.rank), n.node.name, address, n.node.instance_id, seen))
    return "\n".join(table(rows))


def drift(found: Sequence[Drift]) -> str:
    if not found:
        return "the cloud shows what the state has"
    rows: list[Row] = [("drift", "type", "id", "what")]
    return "\n".join(table([*rows, *((d.kind, d.type, d.id, d.detail) for d in found)], indent=""))


def happenings(found: Sequence[tuple[datetime, str, Mapping[str, Any]]]) -> list[str]:
    """A line for each thing that happened: moment, kind, data. A step that was taken again after a crash, or by another
    verb, says again what was said before it; that is told once."""
    lines: list[str] = []
    last = ""
    for at, kind, data in found:
        words = " ".join(str(data[k]) for k in ("state", "reason", "number", "fault") if data.get(k))
        said = f"{kind}  {words}".rstrip()
        if said != last:
            lines.append(f"{iso(at)}  {said}")
        last = said
    return lines


def sweep(result: SweepResult, now: datetime) -> str:
    rows: list[Row] = [("cloud", "type", "id", "run", "lease", "USD/h", "")]
    for f in result.found:
        lease = "unknown" if f.expires_at is None else remaining(f.expires_at - now)
        price = "" if f.price_hour_usd is None else str(f.price_hour_usd)
        fate = "deleted" if f.gone else f.detail or ("past its lease" if f.expired else "")
        rows.append((f"{f.cloud} {f.region}", f.type, f.id, f.run_id or "", lease, price, fate))
    lines = table(rows, indent="") if result.found else []
    lines += [f"in doubt: {d}" for d in result.doubts]
    found, expired = len(result.found), len(result.expired)
    total = f"{found} resources, {dollars(result.price_hour_usd)} an hour; {expired} past their lease"
    hint = "; nothing was deleted, --yes does" if result.expired and not result.deleted else ""
    return "\n".join([*lines, f"{total}{hint}"])


def remaining(time: timedelta) -> str:
    """`3h 20m`, `45s`; with a minus when it is over."""
    seconds = int(abs(time.total_seconds()))
    sign = "-" if time.total_seconds() < 0 else ""
    if seconds < 60:
        return f"{sign}{seconds}s"
    hours, minutes = divmod(seconds // 60, 60)
    return f"{sign}{hours}h {minutes:02}m" if hours else f"{sign}{minutes}m"
