"""Moving the end of a lease."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from support import rigs
from support.cli import Ran
from support.stub_cloud import facts, objects
from support.stub_rigs import order
from trainrig.errors import UnsafePlan
from trainrig.lifecycle import extend as extending
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


@pytest.fixture
def carried_out(context: Context, identity: RigIdentity) -> Iterator[None]:
    """Another process holds the rig, as that of its run does."""
    context.journal.update_details(identity.run_id, verb="run")
    folder = context.rig_dir(identity).path
    script = (
        "import sys; from pathlib import Path; from trainrig.store import locks\n"
        "with locks.hold(Path(sys.argv[1]), 'run'): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdin
        assert other.stdout
        assert other.stdout.readline() == b"held\n"
        yield
        other.stdin.close()


@pytest.mark.usefixtures("carried_out")
def test_the_process_that_carries_a_run_out_is_asked(
    context: Context, cli: Cli, identity: RigIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(_seconds: float) -> None:
        extending.as_asked(context, context.journal.rig(identity.run_id))

    monkeypatch.setattr(extending, "time", SimpleNamespace(sleep=act, monotonic=time.monotonic))
    assert cli("extend", identity.name, "--for", "2h").code == 0
    end = identity.expires_at + timedelta(hours=2)
    assert context.journal.rig(identity.run_id).identity.expires_at == end
    assert {o["labels"]["trainrig-expires"] for o in objects.everything()} == {str(int(end.timestamp()))}
    assert cli("extend", identity.name, "--for", "30d").code == 10

    # What it could not do is said, and the run goes on.
    monkeypatch.setattr(extending, "_move_labels", failed := Mock(side_effect=UnsafePlan("it replaces a machine")))
    ran = cli("extend", identity.name, "--for", "1h")
    assert (ran.code, "it replaces a machine" in ran.err, failed.call_count) == (10, True, 1)
    assert context.journal.rig(identity.run_id).identity.expires_at == end
    monkeypatch.setattr(extending, "ASKED_SECONDS", 0)
    assert cli("extend", identity.name, "--for", "1h").code == 11
