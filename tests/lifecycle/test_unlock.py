"""Locks that a killed Terraform leaves in a remote backend."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import crash, rigs, state_backends
from support.cli import Ran
from support.fake_forge import serving
from support.state_backends import Emulator
from support.stub_cloud import objects
from support.stub_rigs import order
from trainrig.lifecycle.apply import apply
from trainrig.lifecycle.context import Context
from trainrig.render.root import to_json
from trainrig.store import locks

pytestmark = pytest.mark.terraform

NAME, RUN = rigs.identity().name, rigs.identity().run_id
Cli = Callable[..., Ran]


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    (tmp_path / "s3").mkdir()
    with state_backends.s3(tmp_path / "s3") as emulator:
        for name, value in emulator.env.items():
            monkeypatch.setenv(name, value)
        settings = {**emulator.backend.settings, "key": "rig.tfstate", "use_lockfile": True}
        monkeypatch.setenv("STUB_BACKEND", to_json({"terraform": {"backend": {"s3": settings}}}))
        yield emulator


@pytest.fixture
def stuck(bucket: Emulator, site: crash.Site) -> crash.Site:
    """A rig whose Terraform was killed while it created, and with it everything that could clean up."""
    site.env.update({n: os.environ[n] for n in ("STUB_BACKEND", *bucket.env)})
    objects.order({"op": "create", "type": "stub_node", "sleep": 1.0})
    with site.start("apply") as driver:
        site.wait_for_step("creating", driver)
        driver.kill()
        for pid in site.terraform():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    objects.order()
    return site


def test_destroy_breaks_the_lock_of_its_own_dead_terraform(stuck: crash.Site, cli: Cli) -> None:
    assert cli("destroy", NAME).code == 0
    assert objects.everything() == []


def test_unlock_wants_evidence(stuck: crash.Site, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "another-machine")
    refused = cli("unlock", NAME)
    assert refused.code == 11
    assert "--force-older-than" in refused.err
    assert cli("unlock", NAME, "--force-older-than", "1h").code == 11
    time.sleep(1.1)  # on a quick machine the lock is younger than what is asked for next
    assert "released" in cli("unlock", NAME, "--force-older-than", "1s").out
    assert "no state of it is locked" in cli("unlock", NAME).out
    assert cli("destroy", NAME).code == 0


def test_the_lock_of_a_pipeline_that_has_ended_is_released(
    stuck: crash.Site, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = "/repos/team/train/actions/runs/42"
    note = next(stuck.home.glob(f"rigs/*/{locks.NOTE}"))
    with serving() as server:
        note.write_text(json.dumps({**json.loads(note.read_text()), "pipeline": server.url + run}))
        monkeypatch.setattr("socket.gethostname", lambda: "another-machine")
        monkeypatch.setenv("GITHUB_TOKEN", "forge-test-token")
        server.runs[run] = "in_progress"
        assert cli("unlock", NAME).code == 11
        server.runs[run] = "completed"
        assert "released" in cli("unlock", NAME).out
    assert cli("destroy", NAME).code == 0


def test_an_azure_lease_that_tells_nothing_is_broken_with_az(
    context: Context, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stub of Terraform says what azurerm says when the lease has no lock in it; a stub of az hears what is asked."""
    root = apply(context, order()).root
    settings = {"storage_account_name": "acc", "container_name": "state", "key": "rigs/a.tfstate"}
    (root / "backend.tf.json").write_text(to_json({"terraform": {"backend": {"azurerm": settings}}}))
    (root / ".terraform").mkdir(exist_ok=True)
    locked = {
        "severity": "error",
        "summary": "Error acquiring the state lock",
        "detail": "state blob is already locked",
    }
    line = json.dumps({"type": "diagnostic", "diagnostic": locked})
    _program(tmp_path / "bin/terraform", f"echo '{line}'; exit 1")
    _program(tmp_path / "bin/az", f'echo "$@" > {tmp_path}/said')
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    assert cli("unlock", NAME).code == 11
    assert cli("unlock", NAME, "--force-older-than", "1h").code == 0
    said = (tmp_path / "said").read_text()
    assert "lease break" in said
    assert "--account-name acc --container-name state --blob-name rigs/a.tfstate" in said


def _program(path: Path, script: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
