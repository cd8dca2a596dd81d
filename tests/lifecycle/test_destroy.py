"""Destroy, from whatever is known: state, label, or nothing but a run id."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import rigs
from support.program import wait_until
from support.stub_cloud import inventory, objects
from support.stub_rigs import order
from trainrig.clouds.base import Account, Resource
from trainrig.errors import RigUnknown, UsageError
from trainrig.lifecycle import teardown as tearing
from trainrig.lifecycle.apply import apply
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.destroy import destroy, destroy_by_label, destroy_run, run_ids_by_label
from trainrig.model.rig import RigState
from trainrig.tools import leftover
from trainrig.tools.terraform import Terraform

pytestmark = pytest.mark.terraform

RUN = rigs.identity().run_id
stub_find = inventory.find


@pytest.mark.parametrize("damage", ["no state", "broken state", "no folder"])
def test_a_lost_state_leaves_nothing_behind(context: Context, damage: str) -> None:
    root = apply(context, order()).root
    match damage:
        case "no state":
            (root / "terraform.tfstate").unlink()
        case "broken state":
            (root / "terraform.tfstate").write_text('{"version": 4, "ser')
        case "no folder":
            shutil.rmtree(root)
        case _:
            pytest.fail(damage)
    proof = destroy(context, context.journal.rig(RUN))
    assert proof.clean
    assert len(proof.fates) == 3
    assert objects.everything() == []


def test_a_run_id_is_enough_on_a_machine_that_knows_nothing(context: Context) -> None:
    apply(context, order())
    apply(context, order(identity=rigs.identity(name="other", run_id="other222")))
    assert run_ids_by_label(context, rigs.identity().name) == (RUN,)
    proof = destroy_by_label(context, RUN)
    assert proof.clean
    assert {f.how for f in proof.fates} == {"sweep"}
    assert {o["labels"]["trainrig-run-id"] for o in objects.everything()} == {"other222"}
    assert destroy_by_label(context, RUN).fates == ()
    with pytest.raises(RigUnknown):
        run_ids_by_label(context, rigs.identity().name)


@pytest.mark.parametrize("wrong", ["finetune", "../../x", "abcd-345", "abcd23456"])
def test_nothing_is_proven_of_what_is_no_run_id(context: Context, wrong: str) -> None:
    apply(context, order())
    with pytest.raises(UsageError, match="is no run id"):
        destroy_run(context, wrong, None)
    assert destroy_run(context, "zzzz2222", None)[0].clean


def test_dependants_that_go_late_are_waited_for(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tearing, "RETRY_SECONDS", (0.0, 0.0, 0.0))
    apply(context, order())
    objects.order({"op": "delete", "type": "stub_network", "error": "DependencyViolation: eni-1", "times": 2})
    proof = destroy(context, context.journal.rig(RUN))
    assert proof.clean
    assert len(proof.fates) == 3


def test_one_empty_look_proves_nothing(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose creation was cut off, or that a spot request starts, shows up late."""
    apply(context, order())
    looks: list[str | None] = []

    def late(account: Account, run_id: str | None = None) -> Iterator[Resource]:
        looks.append(run_id)
        yield from stub_find(account, run_id) if len(looks) > 1 else ()

    monkeypatch.setattr(inventory, "find", late)
    assert destroy_by_label(context, RUN).clean
    assert objects.everything() == []
    assert len(looks) == 4  # nothing, something, and then nothing twice


def test_what_cannot_be_deleted_is_named_with_the_clouds_words(context: Context) -> None:
    apply(context, order())
    objects.order({"op": "delete", "type": "stub_network", "error": "AccessDenied: networks:Delete"})
    proof = destroy(context, context.journal.rig(RUN))
    assert not proof.clean
    (left,) = proof.left
    assert (left.type, "AccessDenied: networks:Delete" in left.detail) == ("stub_network", True)
    rig = context.journal.rig(RUN)
    assert (rig.state, rig.clean) == (RigState.FAILED, False)
    objects.order()
    assert destroy(context, rig).clean


def test_a_cloud_that_cannot_be_asked_is_a_doubt(context: Context, stub: Path) -> None:
    apply(context, order())
    (stub / "no-credentials").touch()
    proof = destroy(context, context.journal.rig(RUN))
    assert not proof.clean
    assert proof.left == ()
    assert "the token has expired" in proof.doubts[0]
    (stub / "no-credentials").unlink()
    assert destroy(context, context.journal.rig(RUN)).clean


def test_a_machine_made_by_hand_with_the_rigs_labels_goes_too(context: Context) -> None:
    apply(context, order())
    labels = rigs.identity().all_labels()
    stray = objects.create("stub_node", {"name": "x", "zone": "z", "market": "spot", "network": "", "labels": labels})
    proof = destroy(context, context.journal.rig(RUN))
    assert proof.clean
    assert [f.id for f in proof.fates if f.how == "sweep"] == [stray["id"]]


def test_the_key_of_a_rig_goes_with_it(context: Context) -> None:
    apply(context, order())
    key = context.rig_dir(rigs.identity()).ssh_key
    key.touch()
    objects.order({"op": "delete", "type": "stub_network", "error": "AccessDenied: networks:Delete"})
    destroy(context, context.journal.rig(RUN))
    assert key.exists()
    objects.order()
    assert destroy(context, context.journal.rig(RUN)).clean
    assert not key.exists()


LEFT = """
import sys
from pathlib import Path
from trainrig.tools.terraform import Terraform
Terraform(Path(sys.argv[1])).apply(None)
"""
SLOW = 'resource "terraform_data" "slow" {\n provisioner "local-exec" { command = "sleep 12" }\n}\n'


def test_the_terraform_of_a_machine_whose_trainrig_has_died_is_waited_for(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be signalled from here, and what it is making is not in its state yet."""
    monkeypatch.setattr(tearing, "BEFORE_LOCK_SECONDS", 0.5)
    root = tmp_path / "1-1"
    root.mkdir()
    (root / "main.tf").write_text(SLOW)
    Terraform(root).init().check()
    with subprocess.Popen([sys.executable, "-c", LEFT, str(root)]) as died:
        wait_until(lambda: "apply_start" in _log(root), seconds=60, what="it creates")
        died.kill()
    note = json.loads((root / leftover.NOTE).read_text())
    other = {"host": "node-a", "where": "another boot"}
    (root / leftover.NOTE).write_text(json.dumps({**note, **other}))
    assert not (root / "terraform.tfstate").exists() or b"slow" not in (root / "terraform.tfstate").read_bytes()

    torn = tearing.teardown(context, root, "stub")

    assert "apply_complete" in _log(root)
    assert ([r.type for r in torn.destroyed], torn.problem) == (["terraform_data"], "")


def _log(root: Path) -> str:
    log = root / "terraform.jsonl"
    return log.read_text() if log.exists() else ""
