from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainrig import assets
from trainrig.errors import Interrupted
from trainrig.model.events import Event, Progress, silent
from trainrig.tools.ansible import Recap, _failure, _Listener, run_playbook, task_count


def listen(*events: dict[str, Any]) -> tuple[Recap, list[Event]]:
    recap = Recap()
    seen: list[Event] = []
    listener = _Listener(recap, seen.append, 10)
    assert not any(listener(e) for e in events), "a true answer makes ansible-runner write a file an event"
    return recap, seen


def result(kind: str, **res: Any) -> dict[str, Any]:
    data = {"host": "tr-hello-0", "role": "base", "task": "Hold packages", "duration": 0.5, "res": res}
    return {"event": kind, "event_data": data}


def test_a_started_task_is_progress() -> None:
    _, seen = listen({"event": "playbook_on_task_start", "event_data": {"role": "base", "task": "Hold packages"}})
    assert seen == [Progress(phase="configure", message="base : Hold packages", done=1, total=10)]


def test_changes_are_listed_by_node_and_task() -> None:
    recap, _ = listen(result("runner_on_ok", changed=True), result("runner_on_ok", changed=False))
    assert recap.changed == [("tr-hello-0", "base : Hold packages")]
    assert recap.results == 2


def test_a_failure_names_node_task_message_and_log() -> None:
    recap, seen = listen(result("runner_on_failed", msg="No package matching 'x' is available"))
    error = _failure(recap, 2)
    assert "tr-hello-0: base : Hold packages: No package matching 'x' is available" in error.message
    assert str(recap.log) in error.hint
    assert error.details["failures"]
    assert isinstance(seen[0], Progress)
    assert "failed" in seen[0].message


def test_the_failed_item_of_a_loop_speaks_for_it() -> None:
    items = [{"failed": False, "msg": "fine"}, {"failed": True, "msg": "disk full"}]
    recap, _ = listen(result("runner_on_failed", msg="One or more items failed", results=items))
    assert recap.failures[0].message == "disk full"


def test_a_raw_command_speaks_through_its_output() -> None:
    recap, _ = listen(result("runner_on_failed", msg="non-zero return code", stdout="E: not signed\r\n", stderr=""))
    assert recap.failures[0].message == "E: not signed"


def test_an_unreachable_node_is_said_to_be_so() -> None:
    recap, _ = listen(result("runner_on_unreachable", msg="Connection timed out", unreachable=True))
    assert str(recap.failures[0]).endswith("unreachable: Connection timed out")


def test_the_shipped_playbook_is_counted_with_the_roles_that_it_always_runs() -> None:
    playbook = assets.path("ansible") / "playbooks" / "configure.yml"
    imported = sum(
        len(yaml.safe_load((playbook.parent.parent / "roles" / role / "tasks" / "main.yml").read_text()))
        for role in ("base", "container_runtime", "agent", "job")
    )
    assert task_count(playbook) == imported + len(yaml.safe_load(playbook.read_text())[0]["tasks"])


def test_a_node_that_was_booted_again_is_told_of_at_once() -> None:
    told: list[str] = []
    listener = _Listener(Recap(), lambda _: None, 10, told.append)
    listener(result("runner_on_ok", changed=True, rebooted=True, elapsed=40))
    listener(result("runner_on_ok", changed=True))
    assert told == ["tr-hello-0"]


def test_a_node_that_does_not_come_back_from_its_reboot_does_not_answer() -> None:
    recap, _ = listen(result("runner_on_failed", rebooted=True, elapsed=905, msg="Timed out waiting for last boot"))
    (failure,) = recap.failures
    assert failure.unreachable
    assert failure.message == "it did not come back from its reboot in 905 s"


PLAY = """
- hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: Work
      ansible.builtin.command: sleep {seconds}
"""


def test_nothing_of_a_playbook_outlives_it(tmp_path: Path) -> None:
    """Ansible's workers have sessions of their own."""
    seconds = f"600.{time.time_ns()}"
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "work.yml").write_text(PLAY.format(seconds=seconds))
    hosts = tmp_path / "rig" / "inventory" / "hosts.json"

    def running(word: str) -> bool:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if word.encode() in path.read_bytes().split(b"\0"):
                    return True
        return False

    with pytest.raises(Interrupted):
        run_playbook(
            tmp_path / "playbooks" / "work.yml",
            {"all": {"hosts": {"here": {"ansible_python_interpreter": sys.executable}}}},
            directory=tmp_path / "rig",
            observe=silent,
            stopped=lambda: running(seconds),
        )
    until = time.monotonic() + 5  # what was killed may take a moment to go
    while (running(str(hosts)) or running(seconds)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not running(str(hosts))
    assert not running(seconds)
