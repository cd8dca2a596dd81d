"""Runs on a queue, and the workers that take them: exactly once each, whatever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import cheap_steps, postgres
from support.cheap_steps import put
from support.cli import Ran
from support.program import wait_until
from support.receiver import receiver
from support.schemas import check
from support.stub_cloud import objects
from trainrig.errors import CredentialsMissing, Unplaceable
from trainrig.lifecycle import queue
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.job import Notify
from trainrig.model.rig import RigState
from trainrig.store import ledger
from trainrig.store.journal import Journal

pytestmark = pytest.mark.slow

RUNS = 200


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "sqlite":
        yield
        return
    with postgres.server() as url:
        monkeypatch.setenv("TRAINRIG_DATABASE_URL", url)
        yield


class Workers:
    """`trainrig worker` as processes of their own, with cheap steps; what they said is in `documents`."""

    def __init__(self, folder: Path, stub: Path) -> None:
        self._folder = folder
        self._env = {**os.environ, "PYTHONPATH": cheap_steps.pythonpath(), "STUB_CLOUD": str(stub)}
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *options: str, words: tuple[str, ...] = ("worker",), **env: str) -> subprocess.Popen[bytes]:
        number = len(self.started)
        with (self._folder / f"worker-{number}.out").open("wb") as out, self._err(number).open("wb") as err:
            process = subprocess.Popen(
                cheap_steps.argv(*words, "--format", "json", *options),
                env={**self._env, **env},
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def said(self, number: int) -> str:
        return self._err(number).read_text()

    def documents(self) -> list[dict[str, Any]]:
        lines = [line for p in self._folder.glob("worker-*.out") for line in p.read_text().splitlines()]
        return [json.loads(line) for line in lines]

    def _err(self, number: int) -> Path:
        return self._folder / f"worker-{number}.err"


@pytest.fixture
def workers(tmp_path: Path, stub: Path) -> Iterator[Workers]:
    found = Workers(tmp_path, stub)
    yield found
    for process in found.started:
        process.kill()
        process.wait()


def created() -> Counter[str]:
    return Counter(run_id for what, run_id, _ in cheap_steps.effects() if what == "create")


def check_exactly_once(home: Path, run_ids: list[str], *, begun: bool = True) -> None:
    """One machine, one charge that has ended, one proven end a run; never two processes at one run."""
    done = cheap_steps.effects()
    assert not [e for e in done if e[0].startswith("overlap")]
    assert created() == dict.fromkeys(run_ids, 1)
    assert Counter(run_id for what, run_id, _ in done if what == "delete") == dict.fromkeys(run_ids, 1)
    assert objects.everything() == []
    journal = Journal(home)
    try:
        charges = ledger.charges(journal)
        assert Counter(c.run_id for c in charges) == dict.fromkeys(run_ids, 1)
        assert all(c.ended_at for c in charges)
        for run_id in run_ids:
            rig = journal.rig(run_id)
            assert (rig.state, rig.clean) == (RigState.DESTROYED, True)
            assert [h.kind for h in journal.happenings(run_id)].count("begun") == begun
    finally:
        journal.close()


def test_200_runs_on_two_workers_of_which_one_is_killed_end_once_each(
    isolated: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres.server() as url:
        monkeypatch.setenv("TRAINRIG_DATABASE_URL", url)
        workers._env["TRAINRIG_DATABASE_URL"] = url
        run_ids = [put(f"job-{n}") for n in range(RUNS)]
        victim, _ = (workers.start("--runs", "16", "--until-empty") for _ in range(2))
        wait_until(lambda: sum(created().values()) > RUNS // 4, seconds=120, what="a quarter of the runs has begun")
        victim.kill()
        assert workers.started[1].wait(180) == 0, workers.said(1)
        check_exactly_once(isolated, run_ids)
        by = Counter(pid for what, _, pid in cheap_steps.effects() if what == "create")
        assert set(by) == {str(p.pid) for p in workers.started}
        assert len({d["run_id"] for d in workers.documents()}) >= RUNS - 16
        check(workers.documents()[-1])


@pytest.mark.usefixtures("database")
def test_a_worker_that_is_asked_to_end_leaves_its_runs_to_the_next(isolated: Path, workers: Workers) -> None:
    workers._env.update({k: v for k, v in os.environ.items() if k.startswith("TRAINRIG_")})
    run_id = put("long")
    first = workers.start(CHEAP_JOB_SECONDS="300")
    wait_until(lambda: _launched(run_id), seconds=60, what="the job runs")
    first.send_signal(signal.SIGTERM)
    assert first.wait(30) == 0, workers.said(0)
    assert len(objects.everything()) == 1  # the machine goes on
    second = workers.start("--until-empty")
    assert second.wait(60) == 0, workers.said(1)
    check_exactly_once(isolated, [run_id])
    assert Counter(e[0] for e in cheap_steps.effects())["launch"] == 1
    log = (isolated / "rigs" / f"long-{run_id}" / "trainrig.log").read_text()
    assert "the job is done" in log


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("words", [("foreground", "front"), ("resume", "front")])
def test_a_worker_goes_on_with_a_run_in_the_foreground_that_was_killed(
    isolated: Path, workers: Workers, words: tuple[str, ...]
) -> None:
    workers._env.update({k: v for k, v in os.environ.items() if k.startswith("TRAINRIG_")})
    if words[0] == "resume":
        put("front")
    front = workers.start(CHEAP_JOB_SECONDS="300", words=words)
    wait_until(lambda: any(e[0] == "launch" for e in cheap_steps.effects()), seconds=60, what="the job runs")
    worker = workers.start()
    wait_until(lambda: "takes up to" in workers.said(1), seconds=60, what="a worker is there")
    front.kill()
    wait_until(lambda: bool(workers.documents()), seconds=60, what="the worker has ended it")
    assert "is dead, another goes on" in workers.said(1)
    worker.send_signal(signal.SIGINT)
    assert worker.wait(30) == 0
    check_exactly_once(isolated, list(created()), begun=words[0] == "resume")


def test_a_run_that_waits_can_be_cancelled_and_its_name_is_free(
    isolated: Path, workers: Workers, cli: Callable[..., Ran]
) -> None:
    run_id = put("waits")
    ran = cli("status", "waits")
    assert "waits on the queue" in ran.out
    assert cli("cancel", "waits").code == 0
    other = put("waits")
    assert workers.start("--until-empty").wait(60) == 0, workers.said(0)
    assert created() == {other: 1}
    assert {d["run_id"]: d["end"] for d in workers.documents()} == {run_id: "cancelled", other: "done"}


def test_a_run_at_a_worker_can_be_cancelled(isolated: Path, workers: Workers, cli: Callable[..., Ran]) -> None:
    run_id = put("long")
    worker = workers.start("--until-empty", CHEAP_JOB_SECONDS="300")
    wait_until(lambda: _launched(run_id), seconds=60, what="the job runs")
    assert cli("destroy", "long").code == 11  # the worker is at it
    assert cli("cancel", "long").code == 0
    assert worker.wait(60) == 0, workers.said(0)
    assert [(d["end"], d["clean"]) for d in workers.documents()] == [("cancelled", True)]
    check_exactly_once(isolated, [run_id])


def test_a_lease_begins_when_a_run_is_taken(isolated: Path, workers: Workers) -> None:
    run_id = put("later", lease_seconds=3600)
    journal = Journal(isolated)
    before = journal.rig(run_id).identity.expires_at
    journal.db.execute("UPDATE rigs SET expires_at = expires_at - 86400, created_at = created_at - 86400")
    assert workers.start("--until-empty").wait(60) == 0, workers.said(0)
    assert journal.rig(run_id).identity.expires_at >= before
    journal.close()


def test_local_files_travel_with_a_run_and_secrets_do_not(
    isolated: Path, workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "train.py").write_text("1\n")
    (work / ".gitignore").write_text("data\n")
    (work / "data").write_text("large\n")
    monkeypatch.setenv("TOKEN", "planted-secret")
    run_id = put("carried", workdir=str(work), secrets={"TOKEN": "env:TOKEN"})
    (work / "train.py").write_text("2\n")
    folder = isolated / "rigs" / f"carried-{run_id}"
    assert (folder / queue.FOLDER / "workdir" / "train.py").read_text() == "1\n"
    assert not (folder / queue.FOLDER / "workdir" / "data").exists()
    assert json.loads((folder / "job.json").read_text())["workdir"] == str(folder / queue.FOLDER / "workdir")
    assert "planted-secret" not in "".join(p.read_text() for p in folder.rglob("*.json"))

    workers._env.pop("TOKEN", None)
    assert workers.start("--until-empty").wait(60) == 0, workers.said(0)
    (document,) = workers.documents()
    assert (document["end"], document["clean"]) == ("refused", True)
    assert "TOKEN (env:TOKEN)" in workers.said(0)
    assert created() == {}


def test_a_worker_with_another_home_says_what_must_be_shared(workers: Workers, tmp_path: Path) -> None:
    with postgres.server() as url:
        os.environ["TRAINRIG_DATABASE_URL"] = url
        try:
            put("elsewhere")
        finally:
            del os.environ["TRAINRIG_DATABASE_URL"]
        worker = workers.start("--until-empty", TRAINRIG_HOME=str(tmp_path / "other"), TRAINRIG_DATABASE_URL=url)
        assert worker.wait(60) == 4
        assert "another TRAINRIG_HOME" in workers.said(0)
        assert "share that folder" in workers.said(0)


def test_a_webhook_hears_how_a_run_ended_also_when_it_is_down(
    isolated: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver() as hook:
        monkeypatch.setenv("HOOK", hook.url)
        workers._env["HOOK"] = hook.url
        run_ids = [put(name, notify=Notify(webhook="env:HOOK")) for name in ("one", "two")]
        assert workers.start("--until-empty").wait(60) == 0, workers.said(0)
        assert {(d["run_id"], d["event"], d["exit_code"]) for d in hook.documents} == {(r, "done", 0) for r in run_ids}
        assert "planted-secret" not in "".join(p.read_text() for p in isolated.rglob("*.json"))
    with pytest.raises(CredentialsMissing, match="env:NOT_SET"):
        put("four", notify=Notify(webhook="env:NOT_SET"))
    run_ids.append(put("three", notify=Notify(webhook="env:HOOK")))
    assert workers.start("--until-empty").wait(60) == 0, workers.said(1)
    check_exactly_once(isolated, run_ids)


def test_limits_hold_across_workers_and_kills(isolated: Path, workers: Workers, cli: Callable[..., Ran]) -> None:
    limited = Environment(name="test", clouds=(CloudPolicy(cloud="stub", max_gpus={"A100": 24}),), max_runs=4)
    run_ids = [put(f"job-{n}", limited, nodes=1 + n % 2) for n in range(8)]
    with pytest.raises(Unplaceable, match="32 are wanted, 24 are allowed"):
        put("large", limited, nodes=4)
    for _ in range(2):
        workers.start("--until-empty", CHEAP_JOB_SECONDS="1")
    wait_until(lambda: bool(created()), seconds=60, what="a run has begun")
    wait_until(lambda: "are wanted, 24 are allowed" in cli("status").out, seconds=60, what="a run waits for GPUs")
    workers.started[0].kill()
    assert workers.started[1].wait(120) == 0, workers.said(1)
    check_exactly_once(isolated, run_ids)
    most = now = 0
    gpus = {run_id: 8 * (1 + n % 2) for n, run_id in enumerate(run_ids)}
    for what, run_id, _ in cheap_steps.effects():
        now += gpus[run_id] * {"create": 1, "delete": -1}.get(what, 0)
        most = max(most, now)
    assert most == 24


def _launched(run_id: str) -> bool:
    return any(e[:2] == ["launch", run_id] for e in cheap_steps.effects())
