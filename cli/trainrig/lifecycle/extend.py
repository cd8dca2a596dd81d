"""Moves the end of a rig's lease: on the nodes, in the labels, in the journal. In this order, since what goes wrong
half-way must not leave a node that ends before its labels say so unnoticed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from trainrig.clouds import registry
from trainrig.errors import NotBuilt, RigUnknown, StoppedByPolicy
from trainrig.lifecycle import host_keys
from trainrig.lifecycle.context import Context
from trainrig.model.clock import iso
from trainrig.model.node import Node
from trainrig.store import locks
from trainrig.store.journal import Attempt, AttemptState, Rig
from trainrig.store.workdir import write_atomic
from trainrig.tools import interrupt, ssh

TIMER = "trainrig-lease.timer"
PLAN = "extend.tfplan"
_MOVE_TIMER = (
    "mkdir -p /etc/systemd/system/{timer}.d && printf '[Timer]\\nOnCalendar=\\nOnCalendar=%s\\n' '{calendar}'"
    " > /etc/systemd/system/{timer}.d/extended.conf && systemctl daemon-reload && systemctl restart {timer}"
)


def extend(context: Context, rig: Rig, by: timedelta) -> datetime:
    """The new end of the lease, `by` later than the old one.

    Raises:
        RigUnknown: the rig has nothing that is up.
        StoppedByPolicy: it would live longer than its environment allows.
        NotBuilt: its cloud ends machines by itself at the hour that was set when they were made.
        UnsafePlan: its cloud would make the machines anew.
    """
    with interrupt.handled(), locks.hold(context.rig_dir(rig.identity).path, "extend"):
        attempts = [a for a in context.journal.attempts(rig.run_id) if a.state is AttemptState.UP]
        if not attempts:
            raise RigUnknown(f"{rig.name} has nothing that is up", hint=f"trainrig status {rig.name}")
        end = _allowed(context, rig, by)
        for attempt in attempts:
            if not registry.facts(attempt.cloud).lease_extendable:
                raise NotBuilt(
                    f"{attempt.cloud} ends a machine at the hour that was set when it was made",
                    hint="let the job save a checkpoint, and run it again",
                )
            if not registry.has(attempt.cloud, "provider"):
                known = host_keys.learn(context, attempt)
                _move_timers(context.rig_dir(rig.identity).path, known.node_list, end)
            _move_labels(context, rig, attempt, end, by)
        context.journal.set_expiry(rig.run_id, end)
        return end


def _allowed(context: Context, rig: Rig, by: timedelta) -> datetime:
    end = rig.identity.expires_at + by
    latest = rig.created_at + timedelta(seconds=context.environment.max_lease_seconds)
    if end > latest:
        raise StoppedByPolicy(
            f"{rig.name} may live until {iso(latest)}, this would be {iso(end)}",
            hint="max_lease of the environment is the limit",
        )
    return end


def _move_timers(directory: Path, nodes: Sequence[Node], end: datetime) -> None:
    """The timer by which a node ends itself; see templates/configure/cloud-init.yaml.j2."""
    way = ssh.connect(directory, nodes)
    script = _MOVE_TIMER.format(timer=TIMER, calendar=f"{end:%Y-%m-%d %H:%M:%S} UTC")
    try:
        way.each(lambda node: way.run(node, ["sh", "-c", script]))
    finally:
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
