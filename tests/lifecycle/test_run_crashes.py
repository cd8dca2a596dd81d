"""A run that is killed before, inside and after each of its steps ends as if nothing had happened.

The steps of the run are the real ones where they are Terraform's and the journal's; see support/run_driver.py.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from support import crash
from support.cheap_steps import effects
from support.cli import Ran
from support.run_driver import killed
from support.stub_cloud import objects
from trainrig.errors import Interrupted, StoppedByPolicy
from trainrig.model.clock import utc_now
from trainrig.model.rig import RigState
from trainrig.store import ledger
from trainrig.store.journal import Journal
from trainrig.store.workdir import RigDir

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

# In the order in which a run with one recovery takes them.
STEPS = (
    "bring_up-1",
    "launch-1",
    "watch_job-1",
    "next_step-1",
    "release_rig",
    "bring_up-2",
    "launch-2",
    "watch_job-2",
    "next_step-2",
    "collect_results",
    "tear_down",
)
POINTS = [f"{step}:{when}" for step in STEPS for when in ("before", "inside", "after")]
POINTS = [p for p in POINTS if not (p.startswith("next_step") and p.endswith("inside"))]  # it does one thing


def drive(site: crash.Site, verb: str, **env: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "support.run_driver", verb, "killed"]
    return subprocess.run(
        argv, env={**site.env, **env}, capture_output=True, text=True, timeout=crash.PATIENCE_SECONDS, check=False
    )


def go_on(site: crash.Site, **env: str) -> dict[str, Any]:
    """Begins the run, and resumes it until it is not killed any more; its document."""
    done = drive(site, "begin", **env)
    for _ in POINTS:
        if done.returncode != -signal.SIGKILL:
            break
        done = drive(site, "resume", **env)
    assert done.returncode == 0, f"after {killed()}: {done.stdout}{done.stderr}"
    document: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return document


def check(site: crash.Site, document: dict[str, Any], *, moves: int = 0) -> None:
    assert (document["end"], document["clean"]) == ("done", True)
    assert (document["recoveries"], document["moves"]) == (1 - moves, moves)
    site.settle()
    assert objects.everything() == []
    journal = Journal(site.home)
    try:
        rig = journal.find("killed")
        assert (rig.state, rig.clean) == (RigState.DESTROYED, True)
        assert not RigDir.of(site.home, rig.identity).ssh_key.exists()  # it opens nothing any more
        attempts = journal.attempts(rig.run_id)
        assert {a.generation for a in attempts} == {1, 2}
        charges = ledger.charges(journal, rig.run_id)
        assert len(charges) == len(attempts)
        assert all(c.ended_at for c in charges)
        cost = sum((c.usd(c.started_at) for c in charges), Decimal("0.00"))
        assert Decimal(document["cost_usd"]) == cost
        # What is up is never up twice: a generation begins when the one before has ended.
        last = max(c.ended_at for c in charges if c.generation == 1 and c.ended_at)
        assert min(c.started_at for c in charges if c.generation == 2) >= last
        kinds = Counter(h.kind for h in journal.happenings(rig.run_id))
        assert bool(kinds["recovery"]) is not bool(moves)
    finally:
        journal.close()
    assert {e[0] for e in effects()} == {"launch-1", "launch-2", "collect"}


def test_a_run_that_is_killed_at_every_point_ends_as_if_nothing_had_happened(site: crash.Site) -> None:
    document = go_on(site)
    assert killed() == POINTS
    check(site, document)


def test_a_run_that_is_killed_while_it_moves_moves_once(site: crash.Site) -> None:
    of_a_move = ("watch_job-1", "next_step-1", "release_rig", "bring_up-2")
    points = [p for p in POINTS if p.split(":")[0] in of_a_move]
    document = go_on(site, MOVE="1", KILL_AT=",".join(points))
    assert killed() == points
    check(site, document, moves=1)
    first, *others = document["attempts"]
    assert (first["zone"], first["reason"]) == ("z-a", "moved: half the price")
    assert {(a["zone"], a["generation"]) for a in others} == {("z-b", 2)}


def test_a_run_that_loses_its_machine_before_its_outputs_are_fetched_recovers(site: crash.Site) -> None:
    points = ["collect_results:before", "collect_results:inside", "collect_results:after", "release_rig:inside"]
    document = go_on(site, LATE="1", KILL_AT=",".join(points))
    assert killed() == points
    check(site, document)


def test_a_run_that_was_destroyed_brings_nothing_up_any_more(site: crash.Site, cli: Callable[..., Ran]) -> None:
    """It was killed when it was about to replace its rig."""
    assert drive(site, "begin", KILL_AT="release_rig:before").returncode == -signal.SIGKILL
    assert cli("destroy", "killed").code == 0
    ended = drive(site, "resume", KILL_AT="none")
    assert ended.returncode == Interrupted.exit_code, ended.stdout + ended.stderr
    document = json.loads(ended.stdout.splitlines()[-1])
    assert (document["end"], document["clean"]) == ("cancelled", True)
    assert {a["generation"] for a in document["attempts"]} == {1}
    assert objects.everything() == []


def test_a_run_whose_new_place_is_full_comes_up_where_it_was(site: crash.Site) -> None:
    document = go_on(site, MOVE="1", FULL="z-b", KILL_AT="none")
    assert (document["end"], document["clean"], document["moves"], document["recoveries"]) == ("done", True, 1, 0)
    assert [(a["generation"], a["zone"], a["fault"]) for a in document["attempts"]] == [
        (1, "z-a", None),
        (2, "z-b", "capacity"),
        (2, "z-a", None),
    ]
    assert objects.everything() == []


def test_a_run_that_finds_no_machines_after_a_loss_waits_for_them(site: crash.Site) -> None:
    """Six of the two nodes' requests are refused: all of the first round, and the first place of the second."""
    document = go_on(site, NOWHERE="6", KILL_AT="waiting:inside")
    assert killed() == ["waiting:inside"]
    assert (document["end"], document["clean"], document["recoveries"]) == ("done", True, 1)
    *others, last = [a for a in document["attempts"] if a["generation"] == 2]
    assert [a["fault"] for a in others] == ["capacity"] * len(others)
    assert last["fault"] is None
    # However often it tries, a place is one line, and one folder.
    tries = sum(a["tries"] for a in (*others, last))
    assert len(others) <= 1
    assert tries == last["number"] > 3
    assert len(list((site.home / "rigs").glob("*/2-*"))) == 1 + len(others)
    assert objects.everything() == []


def test_a_run_that_waits_for_machines_can_be_ended(site: crash.Site) -> None:
    assert drive(site, "begin", NOWHERE="1000", KILL_AT="waiting:inside").returncode == -signal.SIGKILL
    journal = Journal(site.home)
    try:
        rig = journal.find("killed")
        assert (rig.state, rig.clean) == (RigState.RECOVERING, False)
        journal.update_details(rig.run_id, cancel=True)
    finally:
        journal.close()
    ended = drive(site, "resume", NOWHERE="1000", KILL_AT="none")
    assert ended.returncode == Interrupted.exit_code, ended.stdout + ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1])["end"] == "cancelled"
    assert objects.everything() == []


def test_a_run_does_not_wait_for_machines_beyond_its_lease(site: crash.Site) -> None:
    assert drive(site, "begin", NOWHERE="1000", KILL_AT="waiting:inside").returncode == -signal.SIGKILL
    journal = Journal(site.home)
    try:
        journal.set_expiry(journal.find("killed").run_id, utc_now())
    finally:
        journal.close()
    ended = drive(site, "resume", NOWHERE="1000", KILL_AT="none")
    assert ended.returncode == StoppedByPolicy.exit_code, ended.stdout + ended.stderr
    document = json.loads(ended.stdout.splitlines()[-1])
    assert (document["end"], document["limit"], document["recoveries"]) == ("policy", "lease", 1)
    assert document["clean"]
    assert objects.everything() == []
