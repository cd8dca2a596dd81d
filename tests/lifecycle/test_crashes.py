"""Every way to be stopped, at every step: afterwards status tells the truth, and destroy leaves nothing.

The rule of each test: start a verb, hit it at a step, read `trainrig status`, run `trainrig destroy`, count the cloud.
"""

from __future__ import annotations

import contextlib
import os
import signal

import pytest

from support import crash
from support.cli import trainrig
from support.stub_cloud import objects

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

SIGNALS = {
    "trainrig SIGINT": signal.SIGINT,
    "trainrig SIGTERM": signal.SIGTERM,
    "trainrig SIGHUP": signal.SIGHUP,
    "trainrig SIGKILL": signal.SIGKILL,
}
HITS = (*SIGNALS, "terraform SIGKILL", "all SIGKILL")
PLUGIN_HITS = ("trainrig SIGKILL", "terraform SIGKILL", "provider SIGKILL", "all SIGKILL")


def hit(site: crash.Site, what: str, driver_pid: int) -> None:
    """Sends the signal, or kills the processes."""
    if what in SIGNALS:
        os.kill(driver_pid, SIGNALS[what])
        return
    victims = {
        "terraform SIGKILL": site.terraform(),
        "provider SIGKILL": site.providers(),
        "all SIGKILL": [driver_pid, *site.terraform(), *site.providers()],
    }
    for pid in victims[what]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def check(site: crash.Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Status tells the truth, and destroy leaves nothing."""
    ran = trainrig(capsys, "status", "--all", "--format", "json")
    assert ran.code == 0, ran.err
    for rig in ran.document["rigs"]:
        working = rig["state"] in {"applying", "destroying"}
        assert not working or rig["holder"] or any("still works" in n for n in rig["notes"]), rig
        assert not rig["clean"] or objects.everything() == [], rig
        whole = rig["state"] == "configuring"
        assert not whole or len(rig["nodes"]) == 2, rig
    ran = trainrig(capsys, "destroy", "--run-id", crash.RUN, "--format", "json")
    assert ran.code == 0, ran.out + ran.err
    site.settle()
    assert objects.everything() == []
    assert all(r["clean"] for r in trainrig(capsys, "status", "--all", "--format", "json").document["rigs"])


@pytest.fixture
def as_plugin(site: crash.Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider is a process that Terraform starts, and that a killed Terraform leaves behind."""
    monkeypatch.setenv("STUB_PLUGIN", "1")
    site.env["STUB_PLUGIN"] = "1"


@pytest.mark.parametrize("step", crash.APPLY_STEPS)
@pytest.mark.parametrize("what", HITS)
def test_apply_is_hit(site: crash.Site, capsys: pytest.CaptureFixture[str], what: str, step: str) -> None:
    hit_apply(site, what, step)
    check(site, capsys)


@pytest.mark.usefixtures("as_plugin")
@pytest.mark.parametrize("what", PLUGIN_HITS)
def test_apply_is_hit_in_a_plugins_create(site: crash.Site, capsys: pytest.CaptureFixture[str], what: str) -> None:
    hit_apply(site, what, "creating")
    check(site, capsys)


@pytest.mark.parametrize("step", crash.DESTROY_STEPS)
@pytest.mark.parametrize("what", HITS)
def test_destroy_is_hit(site: crash.Site, capsys: pytest.CaptureFixture[str], what: str, step: str) -> None:
    hit_destroy(site, what, step)
    check(site, capsys)


@pytest.mark.usefixtures("as_plugin")
@pytest.mark.parametrize("what", PLUGIN_HITS)
def test_destroy_is_hit_in_a_plugins_delete(site: crash.Site, capsys: pytest.CaptureFixture[str], what: str) -> None:
    hit_destroy(site, what, "deleting")
    check(site, capsys)


def hit_apply(site: crash.Site, what: str, step: str) -> None:
    if step == "creating":
        objects.order({"op": "create", "type": "stub_node", "sleep": 1.0})
    with site.start("apply", AT=step) as driver:
        site.wait_for_step(step, driver)
        hit(site, what, driver.pid)
        driver.wait(crash.PATIENCE_SECONDS)


def hit_destroy(site: crash.Site, what: str, step: str) -> None:
    with site.start("apply") as driver:
        assert driver.wait(crash.PATIENCE_SECONDS) == 0
    if step == "deleting":
        objects.order({"op": "delete", "type": "stub_node", "sleep": 1.0, "times": 2})
    with site.start("destroy", AT=step) as driver:
        site.wait_for_step(step, driver)
        hit(site, what, driver.pid)
        driver.wait(crash.PATIENCE_SECONDS)
