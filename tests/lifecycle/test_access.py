"""Access that ends in the middle: a token that expires, a state backend that turns read-only, at each step."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import crash, state_backends
from support.cli import Ran
from support.gateway import read_only
from support.stub_cloud import objects
from trainrig.render.root import to_json

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

Cli = Callable[..., Ran]
REFUSAL = "AccessDenied: stub:Everything"
EXPIRE = f"""touch $STUB_CLOUD/no-credentials; echo '[{{"error": "{REFUSAL}"}}]' > $STUB_CLOUD/faults.json"""
CURE = "rm -f $STUB_CLOUD/no-credentials $STUB_CLOUD/faults.json $STUB_CLOUD/read-only"
SHUT = "touch $STUB_CLOUD/read-only"
PATIENCE_SECONDS = 120  # Terraform asks again for its lock until the lock's time-out, command after command
IN_CALL = {"creating": "create", "deleting": "delete"}


def hurt(site: crash.Site, verb: str, step: str, how: str) -> int:
    """Runs a verb to its end, with the trouble that a shell line makes at a step of it; its exit code."""
    if step in IN_CALL:
        objects.order({"op": IN_CALL[step], "type": "stub_node", "sleep": 1.0, "times": 2})
    with site.start(verb, AT=step, AT_DO=how) as driver:
        if step in IN_CALL:
            site.wait_for_step(step, driver)
            subprocess.run(["sh", "-c", how], check=True, env=site.env)
        return driver.wait(PATIENCE_SECONDS)


def told_and_gone(site: crash.Site, cli: Cli) -> None:
    """Status does not call a rig gone that is not; with access again, destroy leaves nothing."""
    for rig in cli("status", "--all", "--format", "json").document["rigs"]:
        assert not rig["clean"] or objects.everything() == [], rig
    subprocess.run(["sh", "-c", CURE], check=True, env=site.env)
    ran = cli("destroy", "--run-id", crash.RUN, "--format", "json")
    assert ran.code == 0, ran.out + ran.err
    assert objects.everything() == []
    assert cli("status").out == "no rigs\n"


@pytest.mark.parametrize("step", crash.APPLY_STEPS)
def test_a_token_expires_in_an_apply(site: crash.Site, cli: Cli, step: str) -> None:
    code = hurt(site, "apply", step, EXPIRE)
    assert code != 1, "an expected failure, not an internal error"
    left = objects.everything()
    assert code or len(left) == 3, "an apply that says that it is done has its network and two nodes"
    told_and_gone(site, cli)


@pytest.mark.parametrize("step", crash.DESTROY_STEPS)
def test_a_token_expires_in_a_destroy(site: crash.Site, cli: Cli, step: str) -> None:
    assert hurt(site, "apply", "never", "true") == 0
    code = hurt(site, "destroy", step, EXPIRE)
    # Nobody can look any more, so nothing is proven, whatever has been deleted.
    assert code == 12
    told_and_gone(site, cli)


@pytest.fixture
def remote(site: crash.Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[crash.Site]:
    """Its state lies in a bucket that can be shut."""
    (tmp_path / "s3").mkdir()
    with state_backends.s3(tmp_path / "s3") as emulator, read_only(emulator.url, site.cloud / "read-only") as url:
        settings = {**emulator.backend.settings, "key": "rig.tfstate", "use_lockfile": True, "max_retries": 1}
        env = {
            **emulator.env,
            "AWS_ENDPOINT_URL_S3": url,
            "STUB_LOCK_SECONDS": "1",
            "STUB_BACKEND": to_json({"terraform": {"backend": {"s3": settings}}}),
        }
        site.env.update(env)
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        yield site


def test_the_backend_turns_read_only_before_anything_is_made(remote: crash.Site, cli: Cli) -> None:
    assert hurt(remote, "apply", "plan", SHUT) != 1, "an expected failure, not an internal error"
    assert objects.everything() == []
    told_and_gone(remote, cli)


def test_the_backend_turns_read_only_while_machines_are_made(remote: crash.Site, cli: Cli) -> None:
    """The state cannot be written, so Terraform leaves it in errored.tfstate."""
    assert hurt(remote, "apply", "creating", SHUT) != 1
    told_and_gone(remote, cli)


def test_the_backend_turns_read_only_while_machines_are_deleted(remote: crash.Site, cli: Cli) -> None:
    assert hurt(remote, "apply", "never", "true") == 0
    assert hurt(remote, "destroy", "deleting", SHUT) != 1
    told_and_gone(remote, cli)
