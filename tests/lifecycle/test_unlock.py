"""Locks that a killed Terraform leaves in a remote backend."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import crash, rigs, state_backends
from support.cli import Ran
from support.state_backends import Emulator
from support.stub_cloud import objects
from trainrig.render.root import to_json

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
    assert "released" in cli("unlock", NAME, "--force-older-than", "1s").out
    assert "no state of it is locked" in cli("unlock", NAME).out
    assert cli("destroy", NAME).code == 0


def test_an_azure_lease_without_a_lock_is_broken_with_az(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trainrig.tools import azure_lease

    az = tmp_path / "az"
    az.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/said\n')
    az.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    azure_lease.break_lease({"storage_account_name": "acc", "container_name": "state", "key": "rigs/a.tfstate"})
    said = (tmp_path / "said").read_text()
    assert "lease break" in said
    assert "--account-name acc --container-name state --blob-name rigs/a.tfstate" in said
