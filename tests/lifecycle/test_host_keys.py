from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from threading import Event
from types import SimpleNamespace

import pytest

from support import rigs
from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.lifecycle import host_keys
from trainrig.lifecycle.context import Context
from trainrig.model.node import Node
from trainrig.store.journal import Attempt, AttemptState


@pytest.fixture
def attempt(context: Context) -> Attempt:
    """Two nodes; the first has a key already."""
    identity = rigs.identity()
    context.journal.intend(identity, details={})
    started = context.journal.start_attempt(identity.run_id, 1, rigs.candidate(2))
    nodes = [rigs.node(0, host_key="ssh-ed25519 AAAA0"), rigs.node(1)]
    return context.journal.update_attempt(started, AttemptState.UP, nodes=nodes)


def says(monkeypatch: pytest.MonkeyPatch, answers: Iterator[str | None]) -> list[str]:
    """A cloud that gives these answers in turn; the names of the nodes that it was asked about."""
    asked: list[str] = []

    def host_key(account: Account, node: Node, *, region: str, zone: str | None) -> str | None:
        assert (account.cloud, region, zone) == ("aws", "us-east-1", "us-east-1a")
        asked.append(node.name)
        return next(answers)

    monkeypatch.setattr(registry, "host_keys", lambda _cloud: SimpleNamespace(host_key=host_key))
    return asked


def test_keys_are_asked_for_until_they_are_there_and_kept(
    context: Context, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = says(monkeypatch, iter([None, None, "ssh-ed25519 AAAA1"]))
    learned = host_keys.learn(context, attempt, pause_seconds=0)
    assert [n.host_key for n in learned.node_list] == ["ssh-ed25519 AAAA0", "ssh-ed25519 AAAA1"]
    assert asked == ["node-1"] * 3
    (kept,) = context.journal.attempts(attempt.run_id)
    assert kept.node_list == learned.node_list
    assert kept.state is AttemptState.UP


@pytest.mark.parametrize("ends", ["time", "stop"])
def test_a_node_that_says_nothing_stays_unknown(
    context: Context, attempt: Attempt, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    says(monkeypatch, iter([None]))
    stop = Event()
    if ends == "stop":
        stop.set()
    learned = host_keys.learn(context, attempt, stop=stop, timeout_seconds=0 if ends == "time" else 60)
    assert learned.node_list[1].host_key is None


def test_nobody_is_asked_where_the_module_knows(
    context: Context, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = says(monkeypatch, iter([]))
    known = replace(attempt, node_list=(rigs.node(host_key="ssh-ed25519 AAAA"),))
    assert host_keys.learn(context, known) is known
    assert asked == []
