"""Moves the end of a rig's lease: on the nodes, in the labels, in the journal. In this order, since what goes wrong
half-way must not leave a node that ends before its labels say so unnoticed."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from trainrig.clouds import registry
from trainrig.errors import NotBuilt, RigBusy, RigError, RigUnknown, StoppedByPolicy
from trainrig.lifecycle import host_keys
from trainrig.lifecycle.context import Context
from trainrig.model.clock import iso
from trainrig.model.events import Progress
from trainrig.model.node import Node
from trainrig.store import locks
from trainrig.store.journal import Attempt, AttemptState, Rig
from trainrig.store.workdir import write_atomic
from trainrig.tools import interrupt
from trainrig.tools import ssh as ssh_tool
from trainrig.tools.ssh import Ssh

TIMER = "trainrig-lease.timer"
PLAN = "extend.tfplan"
ASKED_SECONDS = 120.0  # in which a process that watches its job does what it is asked
LOOK_SECONDS = 0.5
# In the details of a rig: the end that its run's process is asked for, and why it did not do so.
WISH = "extend"
REFUSED = "extend_refused"
_MOVE_TIMER = (
    "mkdir -p /etc/systemd/system/{timer}.d && printf '[Timer]\\nOnCalendar=\\nOnCalendar=%s\\n' '{calendar}'"
    " > /etc/systemd/system/{timer}.d/extended.conf && systemctl daemon-reload && systemctl restart {timer}"
)


def extend(context: Context, rig: Rig, by: timedelta) -> datetime:
    """The new end of the lease, `by` later than the old one. While a process carries the rig's run out, it is asked to
    do it, and waited for: nobody else may touch the rig.

    Raises:
        RigUnknown: the rig has nothing that is up.
        RigBusy: somebody works on it, or does not come to it for a while.
        StoppedByPolicy: it would live longer than its environment allows.
        NotBuilt: its cloud ends machines by itself at the hour that was set when they were made.
        UnsafePlan: its cloud would make the machines anew.
    """
    with interrupt.handled():
        try:
            with locks.hold(context.rig_dir(rig.identity).path, "extend"):
                if not _up(context, rig):
                    raise RigUnknown(f"{rig.name} has nothing that is up", hint=f"trainrig status {rig.name}")
                end = _allowed(context, rig, by)
                _move(context, rig, end)
                return end
        except RigBusy:
            if rig.details.get("verb") != "run" or rig.clean:
                raise
        return _ask(context, rig, _allowed(context, rig, by))


def as_asked(context: Context, rig: Rig, ssh: Ssh | None = None) -> None:
    """Does what `extend` has asked the process for that carries the run out. `ssh`: its way to the nodes."""
    wish = rig.details.get(WISH)
    if wish is None:
        return
    end, refused = datetime.fromtimestamp(wish, UTC), None
    try:
        _move(context, rig, end, ssh)
    except RigError as error:  # the run goes on with the lease that it has
        refused = error.message
    context.journal.update_details(rig.run_id, **{WISH: None, REFUSED: refused})
    said = f"it stays: {refused}" if refused else f"it ends at {iso(end)}"
    context.observe(Progress(phase="run", message=f"the rig's lease was to be extended; {said}"))


def _ask(context: Context, rig: Rig, end: datetime) -> datetime:
    for attempt in _up(context, rig):
        _require_extendable(attempt)
    context.journal.update_details(rig.run_id, **{WISH: int(end.timestamp()), REFUSED: None})
    until = time.monotonic() + ASKED_SECONDS
    while time.monotonic() < until:
        now = context.journal.rig(rig.run_id)
        if now.identity.expires_at >= end:
            return end
        if now.details.get(REFUSED):
            raise StoppedByPolicy(f"the lease of {rig.name} stays: {now.details[REFUSED]}")
        if now.clean:
            raise RigUnknown(f"the run of {rig.name} has ended meanwhile: it is {now.state}")
        time.sleep(LOOK_SECONDS)
    raise RigBusy(
        f"the run of {rig.name} was asked for it, and has not come to it in {ASKED_SECONDS:.0f} s",
        hint=f"it does so once its job runs; trainrig status {rig.name} shows the lease",
    )


def _up(context: Context, rig: Rig) -> list[Attempt]:
    return [a for a in context.journal.attempts(rig.run_id) if a.state is AttemptState.UP]


def _require_extendable(attempt: Attempt) -> None:
    if not registry.facts(attempt.cloud).lease_extendable:
        raise NotBuilt(
            f"{attempt.cloud} ends a machine at the hour that was set when it was made",
            hint="let the job save a checkpoint, and run it again",
        )


def _move(context: Context, rig: Rig, end: datetime, ssh: Ssh | None = None) -> None:
    by = end - rig.identity.expires_at
    for attempt in _up(context, rig):
        _require_extendable(attempt)
        if not registry.has(attempt.cloud, "provider"):
            known = host_keys.learn(context, attempt)
            _move_timers(context.rig_dir(rig.identity).path, known.node_list, end, ssh)
        _move_labels(context, rig, attempt, end, by)
    context.journal.set_expiry(rig.run_id, end)


def _allowed(context: Context, rig: Rig, by: timedelta) -> datetime:
    end = rig.identity.expires_at + by
    latest = rig.created_at + timedelta(seconds=context.environment.max_lease_seconds)
    if end > latest:
        raise StoppedByPolicy(
            f"{rig.name} may live until {iso(latest)}, this would be {iso(end)}",
            hint="max_lease of the environment is the limit",
        )
    return end


def _move_timers(directory: Path, nodes: Sequence[Node], end: datetime, ssh: Ssh | None) -> None:
    """The timer by which a node ends itself; see templates/configure/cloud-init.yaml.j2."""
    way = ssh or ssh_tool.connect(directory, nodes)
    script = _MOVE_TIMER.format(timer=TIMER, calendar=f"{end:%Y-%m-%d %H:%M:%S} UTC")
    try:
        way.each(lambda node: way.run(node, ["sh", "-c", script]))
    finally:
        if ssh is None:
            way.close()


def _move_labels(context: Context, rig: Rig, attempt: Attempt, end: datetime, by: timedelta) -> None:
    """Through Terraform, which must do no more than update."""
    root = context.rig_dir(rig.identity).attempt(attempt.generation, attempt.number)
    path = root / "terraform.tfvars.json"
    before = path.read_bytes()
    write_atomic(path, (json.dumps(_moved(json.loads(before), end, by), ensure_ascii=False, indent=2) + "\n").encode())
    try:
        with context.terraform(root, attempt.cloud) as terraform:
            terraform.plan(out=PLAN).check()
            terraform.show_plan(PLAN).raise_if_unsafe()
            terraform.apply(PLAN).check()
    except BaseException:
        write_atomic(path, before)
        raise


def _moved(inputs: dict[str, Any], end: datetime, by: timedelta) -> dict[str, Any]:
    labels = {**inputs["rig"]["labels"], "trainrig-expires": str(int(end.timestamp()))}
    rig = {**inputs["rig"], "expires_at": iso(end), "labels": labels}
    return {**inputs, "rig": rig, "lease_seconds": inputs["lease_seconds"] + int(by.total_seconds())}
