"""The verbs on a rig, as a user or a pipeline calls them, against the stub cloud."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support import rigs
from support.cli import Ran
from support.held import held_elsewhere
from support.schemas import check
from support.stub_cloud import objects
from support.stub_rigs import candidate, order
from trainrig.lifecycle.apply import apply
from trainrig.lifecycle.context import Context
from trainrig.model.offer import Market
from trainrig.model.rig import RigState

pytestmark = pytest.mark.terraform

NAME, RUN = rigs.identity().name, rigs.identity().run_id
Cli = Callable[..., Ran]


def in_a_day() -> datetime:
    return datetime.now(UTC) + timedelta(days=1)


def test_status_shows_a_rig_from_first_to_last(context: Context, cli: Cli) -> None:
    assert cli("status", "--format", "json").document == {"schema": "trainrig.status/1", "rigs": []}
    objects.order({"op": "create", "zone": "z-a", "rank": 1, "error": "InsufficientCapacity"})
    apply(context, order([candidate("z-a"), candidate("z-b")], identity=rigs.identity(expires_at=in_a_day())))
    document = cli("status", NAME, "--format", "json").document
    check(document)
    (rig,) = document["rigs"]
    assert (rig["state"], rig["zone"], rig["market"], rig["notes"]) == ("configuring", "z-b", "spot", [])
    assert [n["seen"] for n in rig["nodes"]] == [True, True]
    assert [(a["zone"], a["state"], a["fault"]) for a in rig["attempts"]] == [
        ("z-a", "gone", "capacity"),
        ("z-b", "up", None),
    ]
    assert "z-b" in cli("status").out
    check(cli("describe", NAME, "--format", "json").document)
    assert "capacity: no machine is free there" in cli("describe", NAME).out

    proof = cli("destroy", NAME, "--format", "json")
    check(proof.document)
    assert (proof.code, proof.document["clean"], len(proof.document["resources"])) == (0, True, 3)
    assert cli("status").out == "no rigs\n"
    assert cli("status", "--all", "--format", "json").document["rigs"][0]["state"] == "destroyed"
    assert cli("destroy", NAME).code == 0


def test_a_rig_that_has_ended_has_nothing_to_cancel(context: Context, cli: Cli) -> None:
    apply(context, order())
    assert cli("destroy", NAME).code == 0
    told = cli("cancel", NAME)
    assert told.code == 11
    assert "has ended" in told.err
    assert "resume" not in told.err


def test_a_node_that_is_gone_is_shown_as_preempted(context: Context, cli: Cli) -> None:
    up = apply(context, order())
    objects.delete(up.nodes[1].instance_id)
    labels = rigs.identity().all_labels()
    stray = objects.create("stub_node", {"name": "x", "zone": "z", "market": "spot", "network": "", "labels": labels})
    (network,) = (o for o in objects.everything() if o["type"] == "stub_network")
    objects.update(network["id"], {"labels": {**labels, "by-hand": "yes"}})
    document = cli("drift", NAME, "--format", "json").document
    check(document)
    assert {(d["kind"], d["id"]) for d in document["drift"]} == {
        ("preempted", up.nodes[1].instance_id),
        ("extra", stray["id"]),
        ("edited", network["id"]),
    }
    assert cli("drift", NAME, "--detailed-exitcode").code == 2
    (rig,) = cli("status", NAME, "--format", "json").document["rigs"]
    assert [n["seen"] for n in rig["nodes"]] == [True, False]


def test_a_lost_on_demand_node_is_gone_and_not_preempted(context: Context, cli: Cli) -> None:
    up = apply(context, order([candidate(nodes=1, market=Market.ON_DEMAND)]))
    assert cli("drift", NAME, "--detailed-exitcode").code == 0
    objects.delete(up.nodes[0].instance_id)
    assert [d["kind"] for d in cli("drift", NAME, "--format", "json").document["drift"]] == ["gone"]


def test_destroy_says_when_it_is_not_sure(context: Context, cli: Cli, stub: Path) -> None:
    apply(context, order())
    (stub / "no-credentials").touch()
    ran = cli("destroy", NAME, "--format", "json")
    check(ran.document)
    assert (ran.code, ran.document["clean"]) == (12, False)
    assert "the token has expired" in ran.document["doubts"][0]
    assert "may still bill" in ran.err


def test_destroy_without_a_journal(context: Context, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(context, order())
    apply(context, order(identity=rigs.identity(name="second", run_id="second22")))
    monkeypatch.setenv("TRAINRIG_HOME", str(tmp_path / "another machine"))
    assert cli("destroy", "--run-id", RUN, "--format", "json").document["clean"]
    assert cli("destroy", "second", "--format", "json").document["run_id"] == "second22"
    assert objects.everything() == []
    assert cli("destroy", "--run-id", RUN).code == 0
    assert cli("destroy", "nobody").code == 11
    assert cli("destroy").code == 64


def test_sweep_reaps_what_is_past_its_lease_and_nothing_else(
    context: Context, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(context, order(identity=rigs.identity(name="old", run_id="old22222")))
    apply(context, order(identity=rigs.identity(name="new", run_id="new22222", expires_at=in_a_day())))
    monkeypatch.setenv("TRAINRIG_HOME", str(tmp_path / "another machine"))
    dry = cli("sweep", "--format", "json")
    check(dry.document)
    assert (dry.code, dry.document["price_hour_usd"], dry.document["deleted"]) == (0, "5.00", False)
    assert {r["run_id"] for r in dry.document["resources"] if r["expired"]} == {"old22222"}
    assert "3 past their lease; nothing was deleted" in cli("sweep").out
    assert len(objects.everything()) == 6

    assert cli("sweep", "--yes").code == 0
    assert {o["labels"]["trainrig-run-id"] for o in objects.everything()} == {"new22222"}


def test_sweep_closes_the_journal_of_a_rig_that_it_knows(context: Context, cli: Cli, stub: Path) -> None:
    apply(context, order())
    assert cli("sweep", "--yes").code == 0
    assert context.journal.rig(RUN).clean
    (stub / "no-credentials").touch()
    assert cli("sweep").code == 12


def test_a_busy_rig_is_left_alone(context: Context, cli: Cli) -> None:
    apply(context, order())
    with held_elsewhere(context.rig_dir(rigs.identity()).path, "configure"):
        ran = cli("destroy", NAME, "--format", "json")
        assert ran.code == 11
        assert "configure since" in json.loads(ran.out)["message"]
        (rig,) = cli("status", "--format", "json").document["rigs"]
        assert "configure since" in rig["holder"]


def test_a_state_that_a_killed_process_left_is_not_taken_at_its_word(context: Context, cli: Cli) -> None:
    apply(context, order())
    context.journal.set_state(RUN, RigState.APPLYING)
    (rig,) = cli("status", "--format", "json").document["rigs"]
    assert rig["state"] == "failed"
    assert any("interrupted while applying" in n for n in rig["notes"])


@pytest.mark.parametrize(
    ("state", "said"), [(RigState.RUNNING, "trainrig resume finetune"), (RigState.FAILED, "trainrig destroy finetune")]
)
def test_status_says_what_to_do_next(context: Context, cli: Cli, state: RigState, said: str) -> None:
    context.journal.intend(rigs.identity(expires_at=in_a_day()), details={"verb": "run"})
    context.journal.set_state(RUN, state)
    (rig,) = cli("status", "--format", "json").document["rigs"]
    assert (rig["state"], [said in n for n in rig["notes"]]) == (state, [True])
