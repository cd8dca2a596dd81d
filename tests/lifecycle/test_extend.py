"""Moving the end of a lease."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from support import rigs
from support.cli import Ran
from support.stub_cloud import facts, objects
from support.stub_rigs import order
from trainrig.lifecycle.apply import apply
from trainrig.lifecycle.context import Context
from trainrig.model.rig import RigIdentity

pytestmark = pytest.mark.terraform

Cli = Callable[..., Ran]


@pytest.fixture
def identity(context: Context) -> RigIdentity:
    """Of a rig that is up, with a lease of an hour."""
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    identity = rigs.identity(expires_at=end)
    apply(context, order(identity=identity))
    return identity


def test_labels_and_journal_move_together(context: Context, cli: Cli, identity: RigIdentity) -> None:
    before = {o["id"] for o in objects.everything()}
    ran = cli("extend", identity.name, "--for", "2h", "--format", "json")
    assert ran.code == 0, ran.err
    end = identity.expires_at + timedelta(hours=2)
    assert context.journal.rig(identity.run_id).identity.expires_at == end
    assert {o["labels"]["trainrig-expires"] for o in objects.everything()} == {str(int(end.timestamp()))}
    assert {o["id"] for o in objects.everything()} == before
    assert cli("drift", identity.name, "--detailed-exitcode").code == 0


def test_the_environment_sets_a_limit(cli: Cli, identity: RigIdentity) -> None:
    ran = cli("extend", identity.name, "--for", "30d")
    assert (ran.code, "may live until" in ran.err) == (10, True)


def test_a_cloud_that_ends_machines_itself_says_so(
    cli: Cli, identity: RigIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "FACTS", replace(facts.FACTS, lease_extendable=False))
    assert cli("extend", identity.name, "--for", "1h").code == 4


def test_what_would_replace_a_machine_is_refused_and_undone(context: Context, cli: Cli, identity: RigIdentity) -> None:
    root = context.rig_dir(identity).attempt(1, 1)
    text = (root / "main.tf").read_text()
    (root / "main.tf").write_text(text.replace("name    = ", "name    = var.rig.labels.trainrig-expires #"))
    inputs = (root / "terraform.tfvars.json").read_text()
    ran = cli("extend", identity.name, "--for", "1h")
    assert (ran.code, "replaces" in ran.err) == (7, True)
    assert (root / "terraform.tfvars.json").read_text() == inputs
    assert context.journal.rig(identity.run_id).identity.expires_at == identity.expires_at


@pytest.mark.parametrize("text", ["2", "soon", "0h", ""])
def test_a_length_of_time_is_wanted(cli: Cli, identity: RigIdentity, text: str) -> None:
    assert cli("extend", identity.name, "--for", text).code == 64
    assert json.loads(cli("status", "--format", "json").out)["rigs"][0]["notes"] == []
