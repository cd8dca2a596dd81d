"""Learns the SSH host keys of nodes that made their own, before the first connection: none is ever taken on trust."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from threading import Event

from trainrig.clouds import registry
from trainrig.lifecycle.context import Context
from trainrig.model.events import Progress
from trainrig.store.journal import Attempt

BOOT_SECONDS = 300
PAUSE_SECONDS = 5.0


def learn(
    context: Context,
    attempt: Attempt,
    *,
    stop: Event | None = None,
    timeout_seconds: float = BOOT_SECONDS,
    pause_seconds: float = PAUSE_SECONDS,
) -> Attempt:
    """The attempt with its nodes' host keys, in the journal too; asked of the cloud where Terraform cannot know them.

    A key that the node has not printed within `timeout_seconds` stays unknown, and connecting then says so.
    """
    nodes = attempt.node_list
    if all(n.host_key for n in nodes) or not registry.has(attempt.cloud, "host_keys"):
        return attempt
    stop = stop or Event()
    ask = partial(
        registry.host_keys(attempt.cloud).host_key,
        context.account(attempt.cloud, (attempt.region,), attempt.account),
        region=attempt.region,
        zone=attempt.zone,
    )
    context.observe(Progress(phase="configure", message="read the SSH host keys"))
    deadline = time.monotonic() + timeout_seconds
    while True:
        nodes = tuple(n if n.host_key else replace(n, host_key=ask(n)) for n in nodes)
        if all(n.host_key for n in nodes) or time.monotonic() >= deadline or stop.wait(pause_seconds):
            return context.journal.update_attempt(attempt, attempt.state, nodes=nodes)
