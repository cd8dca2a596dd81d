"""What is made ready while a node is silent: Terraform is real, the cloud is the stub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import jobs, rigs, stub_rigs
from support.no_sync import NoSync
from support.stub_cloud import objects
from trainrig.errors import StoreFailed
from trainrig.lifecycle import job_control, next_rig, run_watch
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.next_rig import NextRig
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.events import Event, Progress
from trainrig.model.placement import CatalogStamp, Placement
from trainrig.store.journal import AttemptState
from trainrig.tools.terraform import Terraform

pytestmark = pytest.mark.terraform


@pytest.fixture
def said() -> list[Event]:
    return []


@pytest.fixture
def run(stub: Path, said: list[Event], monkeypatch: pytest.MonkeyPatch) -> RunContext:
    """A run whose first rig is up in z-a; z-b is its fallback."""
    stamp = CatalogStamp(digest="d", captured_at=None, age_hours=None, offers=2)
    here, there = stub_rigs.candidate("z-a"), stub_rigs.candidate("z-b")
    run = RunContext(
        identity=rigs.identity(expires_at=rigs.in_an_hour()),
        job=jobs.a_job(),
        environment=stub_rigs.ENVIRONMENT,
        placement=Placement(job="hello", catalog=stamp, chosen=here, fallbacks=(there,), rejections=()),
        observe=said.append,
    )
    run.rig.create()
    with run.opened() as context:
        context.journal.intend(run.identity, details={})
        attempt = context.journal.start_attempt(run.run_id, 1, here)
        context.journal.update_attempt(attempt, AttemptState.UP, nodes=[rigs.node(host_key="ssh-ed25519 AAAA")])

    def order_of(_context: Any, _job: Any, _environment: Any, candidates: Any, **more: Any) -> Any:
        return stub_rigs.order(candidates, identity=more["identity"], generation=more["generation"])

    monkeypatch.setattr(next_rig, "order_of", order_of)
    return run


@pytest.fixture
def initialised(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The inputs of the roots that Terraform was initialised in."""
    found: list[str] = []
    init = Terraform.init

    def recorded(terraform: Terraform, **how: Any) -> Any:
        result = init(terraform, **how)
        found.append((Path(terraform.root) / "terraform.tfvars.json").read_text())
        return result

    monkeypatch.setattr(Terraform, "init", recorded)
    return found


def ended(following: NextRig) -> None:
    assert following._thread is not None
    following._thread.join(60)
    assert not following._thread.is_alive()


def test_the_place_that_is_tried_next_is_made_ready_once_and_no_machine_is_asked_for(
    run: RunContext, initialised: list[str], said: list[Event]
) -> None:
    following = NextRig(run, 1)
    for _ in range(3):
        following.begin()
    ended(following)
    (inputs,) = initialised
    assert '"zone": "z-b"' in inputs  # z-a may be lost just now
    assert objects.everything() == []
    assert not (run.rig.path / next_rig.FOLDER).exists()
    with run.opened() as context:
        assert [a.generation for a in context.journal.attempts(run.run_id)] == [1]
    assert [e.message for e in said if isinstance(e, Progress)] == ["a node is silent: the next rig is made ready"]


def test_what_cannot_be_made_ready_is_said_and_stops_nothing(
    run: RunContext, said: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise StoreFailed("no network")

    monkeypatch.setattr(next_rig, "prepare", refused)
    following = NextRig(run, 1)
    following.begin()
    ended(following)
    assert [e.message for e in said if isinstance(e, Progress)][-1] == "the next rig is not ready: no network"


@pytest.mark.parametrize(("seconds", "ready"), [(19.0, False), (20.0, True), (59.0, True)])
def test_a_node_that_is_silent_for_twenty_seconds_is_the_reason(
    run: RunContext, monkeypatch: pytest.MonkeyPatch, seconds: float, *, ready: bool
) -> None:
    begun: list[Context | None] = []
    monkeypatch.setattr(NextRig, "begin", lambda _self: begun.append(None))
    monkeypatch.setattr(run_watch, "CheckpointSync", NoSync)

    def follow(*_: object, on_silence: Callable[[float], None], **__: object) -> job_control.JobEnd:
        on_silence(seconds)
        return job_control.JobEnd(verdict="lost", nodes=(), lost=(0,))

    monkeypatch.setattr(job_control, "follow", follow)
    assert run_watch.watch_job(run, 1)["kind"] == "lost"
    assert bool(begun) is ready
