from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support import jobs, rigs
from support.receiver import Receiver, receiver
from support.schemas import check
from trainrig.errors import CredentialsMissing
from trainrig.lifecycle import notify
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.events import Event, Progress
from trainrig.model.job import Notify
from trainrig.store import ledger


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setattr(notify, "PAUSES_SECONDS", (0.01, 0.01))
    with receiver() as found:
        monkeypatch.setenv("HOOK", found.url)
        yield found


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def run(isolated: Path, said: list[str]) -> RunContext:
    def observe(event: Event) -> None:
        if isinstance(event, Progress):
            said.append(event.message)

    run = RunContext(
        identity=rigs.identity(),
        job=jobs.a_job(notify=Notify(webhook="env:HOOK")),
        environment=Environment(name="test", clouds=(CloudPolicy(cloud="aws"),)),
        placement=rigs.placement(),
        observe=observe,
    )
    with run.opened() as context:
        context.journal.intend(run.identity, details={})
    return run


def tell(run: RunContext, *events: str) -> None:
    with run.opened() as context:
        for event in events:
            notify.tell(context, run, event, "because", generation=1)
    notify.flush(run)


def test_events_arrive_in_order_and_match_their_schema(run: RunContext, hook: Receiver) -> None:
    tell(run, "failed")  # before there was any rig
    with run.opened() as context:
        assert run.placement.chosen
        attempt = context.journal.start_attempt(run.run_id, 1, run.placement.chosen)
        ledger.begin(context.journal, attempt, context.now())
        notify.tell(context, run, "guard", "low GPU use", generation=1, detail="idle")
        notify.tell(context, run, "done", "nothing is left", generation=2, exit_code=0)
    notify.flush(run)
    for document in hook.documents:
        check(document)
    assert hook.events == ["failed", "guard", "done"]
    assert [d["id"] for d in hook.documents] == ["abcd2345-1-failed", "abcd2345-1-guard-idle", "abcd2345-2-done"]
    assert hook.documents[0]["where"] is None
    assert hook.documents[1]["where"]["market"] == "spot"
    assert hook.documents[2]["exit_code"] == 0


def test_a_receiver_that_stumbles_is_tried_again_and_loses_nothing(run: RunContext, hook: Receiver) -> None:
    hook.answers = [503, 429]
    tell(run, "started", "done")
    assert hook.events == ["started", "done"]
    assert hook.tries == 4


def test_a_receiver_that_refuses_is_passed_over_and_said(run: RunContext, hook: Receiver, said: list[str]) -> None:
    hook.answers = [410, 500, 500, 500]
    tell(run, "started", "preempted", "done")
    assert hook.events == ["done"]
    assert said == [
        "started was not told: the webhook answered 410",
        "preempted was not told: the webhook answered 500",
    ]
    assert hook.tries == 5


def test_a_receiver_that_is_not_there_costs_no_run(
    run: RunContext, said: list[str], hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", "http://127.0.0.1:1/planted-secret")
    tell(run, "done")
    assert "was not told: the webhook does not answer" in said[0]
    monkeypatch.setenv("HOOK", "file:///etc/passwd")
    tell(run, "done")
    assert "not lead to an http" in said[1]
    monkeypatch.delenv("HOOK")
    tell(run, "done")
    assert "the webhook of hello is missing: env:HOOK" in said[2]
    assert "planted-secret" not in "".join(said)


def test_only_the_events_that_are_asked_for_are_told(run: RunContext, hook: Receiver) -> None:
    some = replace(run, job=replace(run.job, notify=Notify(webhook="env:HOOK", events=("failed",))))
    tell(some, "started", "failed")
    assert hook.events == ["failed"]
    nobody = replace(run, job=replace(run.job, notify=None))
    tell(nobody, "done")
    assert hook.events == ["failed"]


def test_a_reference_is_looked_up_before_anything_is_spent(tmp_path: Path) -> None:
    (tmp_path / "hook").write_text("https://hooks.example/x\n")
    job = jobs.a_job(notify=Notify(webhook=f"file:{tmp_path}/hook"))
    assert notify.url_of(job) == "https://hooks.example/x"
    with pytest.raises(CredentialsMissing, match=r"file:.*/none"):
        notify.url_of(jobs.a_job(notify=Notify(webhook=f"file:{tmp_path}/none")))
