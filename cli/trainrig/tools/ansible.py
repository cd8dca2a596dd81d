"""ansible-runner: playbook in, Progress events out, failures with node, task, message and log."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from trainrig.errors import ConfigureFailed, Interrupted
from trainrig.model.events import Observer, Progress
from trainrig.recovery.node_advice import advice
from trainrig.tools import leftover

_DONE = {"runner_on_ok", "runner_on_skipped", "runner_on_failed", "runner_on_unreachable"}
_FAILED = {"runner_on_failed", "runner_on_unreachable"}
_MESSAGE_LINES = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskFailure:
    node: str
    role: str
    task: str
    message: str
    unreachable: bool

    def __str__(self) -> str:
        where = f"{self.role} : {self.task}" if self.role else self.task
        said = self.message.replace("\n", "\n      ")
        return f"{self.node}: {where}: {'unreachable: ' if self.unreachable else ''}{said}"


@dataclass(kw_only=True, slots=True)
class Recap:
    """What a playbook did. `changed` are (node, "role : task (paths)") of what changed something, or would have
    in check mode; `seconds` is the time that modules took on the nodes, by task."""

    changed: list[tuple[str, str]] = field(default_factory=list)
    failures: list[TaskFailure] = field(default_factory=list)
    results: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    log: Path = Path()


def run_playbook(
    playbook: Path,
    inventory: Mapping[str, Any],
    *,
    directory: Path,
    observe: Observer,
    check: bool = False,
    timeout_seconds: float = 3600,
    stopped: Callable[[], bool] = lambda: False,
    on_reboot: Callable[[str], None] = lambda _node: None,
) -> Recap:
    """Runs `playbook` on all hosts of `inventory`; `directory` (of the rig) takes the inventory and the log.

    Args:
        stopped: asked about once a second; True ends the playbook where it is.
        on_reboot: hears the name of a node that a task has booted again.

    Raises:
        Interrupted: `stopped` said so.
        ConfigureFailed: a task failed, a node did not answer, the playbook could not be read, or time ran out.
    """
    recap = Recap(log=directory / "artifacts" / "last" / "stdout")
    listener = _Listener(recap, observe, task_count(playbook), on_reboot)
    # Ansible's workers have sessions of their own: they outlive one that is killed, and may wait for it for ever.
    hosts = str(directory / "inventory" / "hosts.json")
    leftover.end_all("ansible-playbook", hosts)
    try:
        status, rc = _run(playbook, inventory, directory, check, timeout_seconds, listener, stopped)
    finally:
        leftover.end_all("ansible-playbook", hosts)
    if status == "canceled":
        raise Interrupted("configuring was interrupted", hint="trainrig configure goes on with it")
    if status == "timeout":
        raise ConfigureFailed(
            f"the nodes were not configured within {timeout_seconds:g} s",
            hint=f"log: {recap.log}",
            details=_details(recap),
        )
    if rc:
        raise _failure(recap, rc)
    return recap


class _Listener:
    """Turns ansible-runner's event dictionaries into Progress and the recap. Returns False: no file an event."""

    def __init__(
        self, recap: Recap, observe: Observer, total: int, on_reboot: Callable[[str], None] = lambda _node: None
    ) -> None:
        self.recap = recap
        self._observe = observe
        self._on_reboot = on_reboot
        self._started = 0
        self._total = total

    def __call__(self, event: Mapping[str, Any]) -> bool:
        kind, data = event.get("event", ""), event.get("event_data", {})
        if kind == "playbook_on_task_start" and not data.get("task", "").startswith("Validating arguments"):
            self._started = min(self._started + 1, self._total - 1)  # files that roles include come on top
            self._tell(_task(data))
        elif kind in _DONE:
            self._result(kind, data)
        return False

    def _result(self, kind: str, data: Mapping[str, Any]) -> None:
        recap, result = self.recap, data.get("res") or {}
        node, task = str(data.get("host", "")), _task(data)
        recap.results += 1
        recap.seconds[task] = max(recap.seconds.get(task, 0.0), float(data.get("duration") or 0))
        if kind in _FAILED:
            if data.get("ignore_errors"):
                return
            # Of the module `reboot`: it was told to, and has not been seen again.
            lost = bool(result.get("rebooted"))
            failure = TaskFailure(
                node=node,
                role=str(data.get("role") or ""),
                task=str(data.get("task") or ""),
                message=f"it did not come back from its reboot in {result.get('elapsed')} s"
                if lost
                else _message(result),
                unreachable=lost or kind == "runner_on_unreachable",
            )
            recap.failures.append(failure)
            self._tell(f"failed: {failure}", node)
        elif result.get("changed"):
            paths = ", ".join(map(str, result.get("paths") or []))
            recap.changed.append((node, f"{task} ({paths})" if paths else task))
            if result.get("rebooted"):
                self._on_reboot(node)

    def _tell(self, message: str, node: str | None = None) -> None:
        step = Progress(phase="configure", message=message, node=node, done=self._started, total=self._total)
        self._observe(step)


def task_count(playbook: Path) -> int:
    """How many tasks a playbook has with those of the roles that it always imports; Ansible itself does not say."""
    plays = yaml.safe_load(playbook.read_text(encoding="utf-8"))
    tasks = [task for play in plays for task in play["tasks"]]
    roles = [task["ansible.builtin.import_role"]["name"] for task in tasks if "ansible.builtin.import_role" in task]
    mains = [playbook.parent.parent / "roles" / role / "tasks" / "main.yml" for role in roles]
    return len(tasks) + sum(len(yaml.safe_load(main.read_text(encoding="utf-8"))) for main in mains)


def _task(data: Mapping[str, Any]) -> str:
    role, task = data.get("role"), data.get("task") or data.get("name") or ""
    return f"{role} : {task}" if role else str(task)


def _message(result: Mapping[str, Any]) -> str:
    """The most telling words of a task's result."""
    items = [r for r in result.get("results", []) if isinstance(r, Mapping) and r.get("failed")]
    if items:
        return _message(items[0])
    parts = [str(result.get(k, "")).strip() for k in ("msg", "stderr", "module_stderr", "reason")]
    seen = list(dict.fromkeys(p for p in parts if p and p != "non-zero return code"))
    if not seen:  # a raw command has a terminal, and with it one stream for all that it says
        seen = str(result.get("stdout", "")).strip().splitlines()[-_MESSAGE_LINES:]
    return "\n".join("\n".join(seen).splitlines()[:_MESSAGE_LINES]) or "no message"


def _failure(recap: Recap, rc: int) -> ConfigureFailed:
    if not recap.failures:  # a playbook that cannot be read has no failure event, only output
        tail = recap.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-_MESSAGE_LINES:]
        return ConfigureFailed(
            "\n    ".join([f"ansible-playbook exited with {rc}", *tail]),
            hint=f"log: {recap.log}",
            details=_details(recap),
        )
    nodes = sorted({f.node for f in recap.failures})
    said = "\n".join(f.message for f in recap.failures)
    return ConfigureFailed(
        "\n    ".join([f"{', '.join(nodes)} could not be configured", *map(str, recap.failures)]),
        hint=f"{advice(said)}; log: {recap.log}",
        details=_details(recap),
    )


def _details(recap: Recap) -> dict[str, object]:
    failures = [
        {"node": f.node, "role": f.role, "task": f.task, "message": f.message, "unreachable": f.unreachable}
        for f in recap.failures
    ]
    return {"failures": failures, "log": str(recap.log)}


def _run(
    playbook: Path,
    inventory: Mapping[str, Any],
    directory: Path,
    check: bool,
    timeout_seconds: float,
    listener: _Listener,
    stopped: Callable[[], bool],
) -> tuple[str, int]:
    """ansible-runner in a thread, so that it cannot take over the process's signal handlers."""
    import ansible_runner

    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    cancelled = threading.Event()
    ended: list[Any] = []

    def on_status(status: Mapping[str, Any], runner_config: Any) -> None:
        if status.get("status") == "running":
            # It has just written our whole environment there, cloud credentials and all.
            Path(runner_config.artifact_dir, "command").unlink(missing_ok=True)

    def work() -> None:
        ended.append(
            ansible_runner.run(
                private_data_dir=str(directory),
                project_dir=str(playbook.parent.parent),
                playbook=str(playbook),
                inventory=dict(inventory),
                ident="last",
                quiet=True,
                cmdline="--check --diff" if check else None,
                event_handler=listener,
                status_handler=on_status,
                cancel_callback=lambda: cancelled.is_set() or stopped(),
                timeout=int(timeout_seconds),
                settings={"pexpect_timeout": 1},
                # Its files win over the arguments of every later run: one check would make all runs checks.
                suppress_env_files=True,
                envvars=_environment(playbook),
            )
        )

    thread = threading.Thread(target=work, name="ansible", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.2)
    except BaseException:
        cancelled.set()
        thread.join(30)
        raise
    if not ended:
        raise ConfigureFailed("ansible-runner failed to start", hint="run the verb again with --verbose")
    return str(ended[0].status), int(ended[0].rc)


def _environment(playbook: Path) -> dict[str, str]:
    """ansible-playbook lies beside our Python, also where the virtual environment is not activated."""
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "ANSIBLE_CONFIG": str(playbook.parent.parent / "ansible.cfg"),
        "ANSIBLE_FORCE_COLOR": "false",
        "ANSIBLE_NOCOLOR": "true",
    }
