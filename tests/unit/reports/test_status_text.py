from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from support.rigs import NOW, node
from trainrig.model.fault import FaultClass
from trainrig.model.offer import Market
from trainrig.model.rig import RigState
from trainrig.model.status import AttemptStatus, Drift, Found, NodeStatus, RigStatus, SweepResult, Work
from trainrig.reports import status_text

ATTEMPT = AttemptStatus(
    generation=1,
    number=2,
    cloud="aws",
    region="us-east-1",
    zone="us-east-1a",
    instance_type="p4d.24xlarge",
    market=Market.SPOT,
    nodes=2,
    price_hour_usd=Decimal("11.57"),
    state="gone",
    fault=FaultClass.CAPACITY,
    reason="AWS has no free machine of this type there",
    started_at=NOW,
    seconds=95,
    cost_usd=Decimal("0.61"),
    lost_seconds=42,
)
RIG = RigStatus(
    name="llama",
    run_id="abcd2345",
    owner="ada",
    environment="team",
    state=RigState.RUNNING,
    clean=False,
    expires_at=NOW + timedelta(hours=3, minutes=20),
    cost_usd=Decimal("12.30"),
    attempts=(ATTEMPT,),
    nodes=(NodeStatus(node=node(), seen=False),),
    holder="ada on workstation, run since 2026-03-01T11:00:00Z, pid 7",
    notes=("look here",),
)


def test_a_rig_is_a_line_and_its_notes_follow() -> None:
    said = status_text.rigs([RIG], NOW).splitlines()
    assert said[1].split() == ["llama", "abcd2345", "running", "aws", "us-east-1a", "spot", "1", "$12.30", "3h", "20m"]
    assert said[3:] == [f"llama: in use by {RIG.holder}", "llama: look here"]
    assert status_text.rigs([], NOW) == "no rigs"


def test_a_running_job_says_how_far_it_is() -> None:
    far = Work(done_hours=Decimal("1.5"), left_hours=Decimal("3.34"), done_share=Decimal("0.4231"))
    said = status_text.rigs([replace(RIG, holder=None, notes=(), work=far)], NOW).splitlines()
    assert said[-1] == "llama: 42 % is done, 3h 20m of work left"
    assert status_text.work(replace(far, done_share=None)) == "1h 30m of work is safe, 3h 20m of work left"
    assert status_text.work(replace(far, done_share=None, left_hours=None)) == "1h 30m of work is safe"


def test_an_attempt_says_what_it_failed_on_and_what_it_cost() -> None:
    said = status_text.attempts([ATTEMPT])
    assert "1-2" in said
    assert "capacity: AWS has no free machine" in said
    assert "$0.61" in said
    assert "try 12, capacity: AWS" in status_text.attempts([replace(ATTEMPT, tries=12)])


def test_costs_are_the_attempts_with_their_sum_and_the_advice() -> None:
    advised = replace(RIG, attempts=(ATTEMPT, replace(ATTEMPT, lost_seconds=None)), checkpoint_advice="save more often")
    said = status_text.costs([advised]).splitlines()
    assert said[0] == "llama: $12.30; 42s of work was lost"
    assert said[1].split()[5:7] == ["time", "lost"]
    assert said[-1] == "save more often"


def test_a_node_that_the_cloud_does_not_show_stands_out() -> None:
    assert status_text.nodes(RIG).splitlines()[-1].endswith("NO")


def test_a_node_that_is_listed_and_does_not_run_is_not_just_there() -> None:
    listed = replace(RIG, nodes=(NodeStatus(node=node(), seen=True),))
    other = Drift(kind="gone", type="aws_instance", id="i-other")
    assert status_text.nodes(listed, [other]).endswith("yes")
    assert status_text.nodes(listed, [replace(other, id=node().instance_id)]).endswith("yes, but it does not run")


@pytest.mark.parametrize(
    ("seconds", "said"), [(45, "45s"), (60, "1m"), (12000, "3h 20m"), (-12000, "-3h 20m"), (0, "0s")]
)
def test_times_are_short(seconds: int, said: str) -> None:
    assert status_text.remaining(timedelta(seconds=seconds)) == said


def test_a_dry_sweep_counts_what_it_found_and_deletes_nothing() -> None:
    found = Found(
        cloud="aws",
        region="us-east-1",
        type="instance",
        id="i-1",
        name="tr-llama-abcd2345-0",
        run_id="abcd2345",
        expires_at=NOW - timedelta(hours=1),
        expired=True,
        price_hour_usd=Decimal("11.57"),
    )
    said = status_text.sweep(SweepResult(found=(found,), doubts=(), deleted=False), NOW)
    assert "past its lease" in said
    assert said.endswith("1 resources, $11.57 an hour; 1 past their lease; nothing was deleted, --yes does")


def test_what_is_said_again_after_a_crash_is_told_once() -> None:
    found: list[tuple[datetime, str, dict[str, object]]] = [
        (NOW, "intended", {}),
        (NOW, "state", {"state": "configuring", "reason": ""}),
        (NOW + timedelta(seconds=9), "state", {"state": "configuring", "reason": ""}),
        (NOW, "attempt", {"state": "up", "number": 1, "fault": None}),
        (NOW, "state", {"state": "configuring"}),
    ]
    lines = [line.partition("  ")[2] for line in status_text.happenings(found)]
    assert lines == ["intended", "state  configuring", "attempt  up 1", "state  configuring"]
