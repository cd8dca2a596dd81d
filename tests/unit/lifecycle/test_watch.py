"""The guards of a job that is watched, on nodes that are played: each second of the clock is one answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest

from support import rigs
from support.jobs import a_node
from support.no_sync import NoSync
from trainrig.lifecycle import watch as watching
from trainrig.lifecycle.checkpoint_sync import CheckpointSync
from trainrig.lifecycle.watch import Hooks, Watched, watch
from trainrig.model.events import silent
from trainrig.model.job import Guard, Guards, MoveWishes
from trainrig.model.node import Node
from trainrig.model.offer import Market
from trainrig.model.process import Outcome
from trainrig.recovery.facts import Elsewhere, Facts, Observation
from trainrig.recovery.guards import Breach
from trainrig.tools.ssh import UNREACHABLE, Ssh

WELL = {"exit_code": 0, "oom_killed": False, "finished_at": "2026-01-01T00:00:00Z"}
NODES = (a_node(0), a_node(1))


Beat = dict[str, Any] | None
HEALTHY = Facts(now=rigs.NOW, started_at=rigs.NOW, observation=Observation.HEALTHY)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Watched, list[Breach]]]:
    """Watches two nodes with these guards; `beat(rank, second)` and `line(second)` are what they say, up to the end."""

    def run(
        guards: Guards,
        *,
        seconds: int,
        beat: Callable[[int, int], Beat] = lambda _rank, _second: None,
        line: Callable[[int], bool] = lambda _second: True,
        facts: Facts = HEALTHY,
        answers: Callable[[int], bool] = lambda _second: True,
        quiet: float = 0.0,
    ) -> tuple[Watched, list[Breach]]:
        clock = [0.0]

        def polled(self: Ssh, node: Node, words: Sequence[str], **_: object) -> Outcome:
            second = int(clock[0])
            if node.rank and not answers(second):
                return Outcome(returncode=UNREACHABLE, stdout="", stderr="", seconds=0)
            ended = WELL if second >= seconds else {"active": "active"}
            entries = [json.dumps({"__CURSOR": str(second), "MESSAGE": "step"})] if line(second) else []
            head = {**ended, "notice": None, "heartbeat": beat(node.rank, second)}
            return Outcome(returncode=0, stdout="\n".join([json.dumps(head), *entries]), stderr="", seconds=0)

        def sleep(_seconds: float) -> None:
            clock[0] += 1

        monkeypatch.setattr(Ssh, "run", polled)
        monkeypatch.setattr("time.sleep", sleep)
        monkeypatch.setattr("time.monotonic", lambda: clock[0])
        told: list[Breach] = []
        hooks = Hooks(
            facts=lambda: facts,
            cancelled=lambda: False,
            gone=lambda: None,
            silent=lambda _seconds: None,
            committed=lambda: None,
            guarded=told.append,
        )
        sync = cast("CheckpointSync", NoSync())
        return watch(Ssh(rig=Path("/rig"), nodes=NODES), sync, silent, hooks, {}, guards, quiet_seconds=quiet), told

    return run


Run = Callable[..., tuple[Watched, list[Breach]]]


def busy(percent: int, idle_minutes: float, disk: int = 10) -> dict[str, Any]:
    return {"gpu_busy_percent": percent, "idle_minutes": idle_minutes, "disk_percent": disk}


def test_a_job_without_guards_may_be_as_silent_as_it_likes(watched: Run) -> None:
    end, told = watched(Guards(), seconds=5000, line=lambda _s: False)
    assert (end.kind, told) == ("done", [])


def test_a_job_that_writes_nothing_is_stopped_with_what_it_made(watched: Run) -> None:
    guards = Guards(silence=Guard(limit=120, do="stop"))
    end, told = watched(guards, seconds=900, line=lambda s: s < 300)
    assert (end.kind, end.limit, end.collect, told) == ("policy", "silence", True, [])
    assert watched(guards, seconds=900, line=lambda s: s % 100 == 0)[0].kind == "done"


def test_the_silence_of_a_job_whose_node_does_not_answer_is_not_the_jobs(watched: Run) -> None:
    guards = Guards(silence=Guard(limit=30, do="stop"))
    assert watched(guards, seconds=900, line=lambda s: s < 300, answers=lambda s: s < 300)[0].kind == "lost"


def test_a_silence_that_began_before_this_watch_goes_on(watched: Run) -> None:
    guards = Guards(silence=Guard(limit=120, do="destroy"))
    assert watched(guards, seconds=60, line=lambda _s: False, quiet=100)[0].limit == "silence"
    assert watched(guards, seconds=60, line=lambda s: s == 0, quiet=100)[0].kind == "done"  # what came meanwhile


def test_a_warning_is_told_once_and_again_when_the_limit_is_passed_anew(watched: Run) -> None:
    end, told = watched(Guards(silence=Guard(limit=60)), seconds=900, line=lambda s: s in {300, 301, 600})
    assert end.kind == "done"
    assert [b.guard for b in told] == ["silence"] * 3


def test_a_rig_is_idle_when_all_of_its_gpus_are(watched: Run) -> None:
    guards = Guards(idle=Guard(limit=600, do="destroy"))
    one = watched(guards, seconds=900, beat=lambda rank, s: busy(0, s / 60) if rank else busy(90, 0))
    assert one[0].kind == "done"
    both, _ = watched(guards, seconds=900, beat=lambda _rank, s: busy(1, s / 60))
    assert (both.kind, both.limit, both.collect) == ("policy", "idle", False)
    without = {"gpu_busy_percent": None, "idle_minutes": 99, "disk_percent": 1}
    assert watched(guards, seconds=900, beat=lambda _rank, _s: without)[0].kind == "done"


def test_the_fullest_disk_counts(watched: Run) -> None:
    guards = Guards(disk=Guard(limit=90, do="checkpoint"))
    end, told = watched(guards, seconds=60, beat=lambda rank, s: busy(90, 0, disk=80 + rank * (s // 4)))
    assert end.kind == "done"
    assert [(b.guard, b.do) for b in told] == [("disk", "checkpoint")]
    assert "more than 90 %" in told[0].reason


def test_a_job_that_moves_is_left_running_and_says_where_to(watched: Run) -> None:
    there = Elsewhere(
        candidate=3,
        where="there",
        market=Market.ON_DEMAND,
        here_hour_usd=Decimal(2),
        there_hour_usd=Decimal(1),
        saving_usd=Decimal(9),
        cost_usd=Decimal(1),
    )
    facts = replace(
        HEALTHY,
        move=MoveWishes(wait_seconds=0),
        settled_at=rigs.NOW,
        committed=True,
        work_left_hours=Decimal(9),
        elsewhere=(there,),
    )
    end, _ = watched(Guards(), seconds=60, facts=facts)
    assert (end.kind, end.to) == ("moving", 3)
    assert watched(Guards(), seconds=60, facts=replace(facts, elsewhere=()))[0].kind == "done"


@pytest.fixture(autouse=True)
def limits_every_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LIMITS_EVERY_SECONDS", 1.0)
