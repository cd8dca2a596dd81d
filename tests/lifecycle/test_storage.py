"""A disk that fills up, or turns read-only, under trainrig and Terraform at each step."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support import crash
from support.cli import Ran
from support.stub_cloud import objects

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

# What the wrapper around Terraform does at the step; $TRAINRIG_HOME is a file system of its own.
TROUBLE = {
    "full disk": "dd if=/dev/zero of=$TRAINRIG_HOME/filler bs=64k 2>/dev/null",
    "read-only": "mount -o remount,ro $TRAINRIG_HOME",
}
CURE = {"full disk": "rm $TRAINRIG_HOME/filler", "read-only": "mount -o remount,rw $TRAINRIG_HOME"}


@pytest.fixture
def small(site: crash.Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[crash.Site]:
    """A machine whose TRAINRIG_HOME is a small file system in memory."""
    home = tmp_path / "small"
    home.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(home)], check=False)
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    monkeypatch.setenv("TRAINRIG_HOME", str(home))
    yield replace(site, home=home, env={**site.env, "TRAINRIG_HOME": str(home)})
    subprocess.run(["umount", "-l", str(home)], check=True)


@pytest.mark.parametrize("step", ["init", "plan", "apply", "after-apply"])
@pytest.mark.parametrize("trouble", TROUBLE)
def test_apply_with_failing_storage(small: crash.Site, cli: Callable[..., Ran], trouble: str, step: str) -> None:
    with small.start("apply", AT=step, AT_DO=TROUBLE[trouble]) as driver:
        code = driver.wait(crash.PATIENCE_SECONDS)
    assert code != 1, "an expected failure, not an internal error"
    subprocess.run(["sh", "-c", CURE[trouble]], check=True, env=small.env)
    destroyed_and_gone(small, cli)


@pytest.mark.parametrize("step", ["destroy", "after-destroy"])
@pytest.mark.parametrize("trouble", TROUBLE)
def test_destroy_with_failing_storage(small: crash.Site, cli: Callable[..., Ran], trouble: str, step: str) -> None:
    with small.start("apply") as driver:
        assert driver.wait(crash.PATIENCE_SECONDS) == 0
    with small.start("destroy", AT=step, AT_DO=TROUBLE[trouble]) as driver:
        code = driver.wait(crash.PATIENCE_SECONDS)
    assert code != 1
    subprocess.run(["sh", "-c", CURE[trouble]], check=True, env=small.env)
    destroyed_and_gone(small, cli)


def destroyed_and_gone(small: crash.Site, cli: Callable[..., Ran]) -> None:
    ran = cli("destroy", "--run-id", crash.RUN, "--format", "json")
    assert ran.code == 0, ran.out + ran.err
    assert objects.everything() == []
    assert cli("status").out == "no rigs\n"


def test_a_journal_that_cannot_be_written_is_said_and_costs_nothing(small: crash.Site, cli: Callable[..., Ran]) -> None:
    subprocess.run(["sh", "-c", TROUBLE["read-only"]], check=True, env=small.env)
    with small.start("apply") as driver:
        assert driver.wait(crash.PATIENCE_SECONDS) == 4
    assert objects.everything() == []
    subprocess.run(["sh", "-c", CURE["read-only"]], check=True, env=small.env)
