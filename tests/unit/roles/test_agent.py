"""The agent of the nodes, against metadata services that answer as the clouds document it."""

from __future__ import annotations

import http.server
import importlib.machinery
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from support.web import serving

FILE = Path(__file__).parents[3] / "ansible/roles/agent/files/agent.py"


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("node_agent", str(FILE))
    spec = importlib.util.spec_from_loader("node_agent", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    monkeypatch.setattr(module, "RUN", str(tmp_path))
    return module


@pytest.fixture
def metadata() -> Iterator[tuple[str, dict[str, str], list[tuple[str, str, str | None]]]]:
    """URL, path -> answer (404 when missing), and what was asked: (method, path, token)."""
    answers: dict[str, str] = {}
    asked: list[tuple[str, str, str | None]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def _answer(self) -> None:
            asked.append((self.command, self.path, self.headers.get("X-aws-ec2-metadata-token")))
            body = answers.get(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write((body or "").encode())

        do_GET = do_PUT = _answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Silent."""

    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url, answers, asked


def test_aws_is_asked_with_a_session_token_and_says_nothing_until_there_is_a_notice(
    agent: ModuleType, metadata: Any
) -> None:
    url, answers, asked = metadata
    answers["/latest/api/token"] = "token-1"
    source = agent.Aws(url)
    assert source.notice() is None
    answers["/latest/meta-data/spot/instance-action"] = '{"action": "terminate", "time": "2026-01-01T00:02:00Z"}'
    assert source.notice()["action"] == "terminate"
    assert [a for a in asked if a[0] == "PUT"] == [("PUT", "/latest/api/token", None)]
    assert asked[-1][2] == "token-1"


@pytest.mark.parametrize(
    ("preempted", "maintenance", "action"),
    [("FALSE", "NONE", None), ("TRUE", "NONE", "preempted"), ("FALSE", "TERMINATE_ON_HOST_MAINTENANCE", "TERMINATE")],
)
def test_google_says_preempted_or_announces_maintenance(
    agent: ModuleType, metadata: Any, preempted: str, maintenance: str, action: str | None
) -> None:
    url, answers, _ = metadata
    answers |= {"/preempted": preempted, "/maintenance-event": maintenance}
    found = agent.Gcp(url).notice()
    assert (found is None) if action is None else found["action"].startswith(action)


def test_azure_lists_events_of_which_only_an_eviction_counts(agent: ModuleType, metadata: Any) -> None:
    url, answers, _ = metadata
    answers["/events"] = json.dumps({"Events": [{"EventType": "Freeze"}]})
    source = agent.Azure(f"{url}/events")
    assert source.notice() is None
    answers["/events"] = json.dumps({"Events": [{"EventType": "Freeze"}, {"EventType": "Preempt"}]})
    assert source.notice()["EventType"] == "Preempt"


class Source:
    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def notice(self) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_a_notice_is_written_once_and_the_job_is_told_to_save(
    agent: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(agent, "run", lambda *command: ran.append(command))
    settings = {"save_signal": "SIGUSR1", "idle_minutes": 0}
    watcher = agent.Agent(settings, Source(None, OSError("no route"), {"action": "terminate"}), now=lambda: 1000.0)
    for _ in range(4):
        watcher.round()
    notice = json.loads((tmp_path / "notice.json").read_text())
    assert notice == {"kind": "preemption", "at": 1000, "detail": {"action": "terminate"}}
    assert [c for c in ran if c[:2] == ("docker", "kill")] == [("docker", "kill", "--signal=SIGUSR1", "trainrig-job")]


def test_a_gpu_that_does_nothing_under_a_running_job_is_idle_after_its_minutes(
    agent: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    said = {"nvidia-smi": "0\n0\n", "docker": "true\n"}
    monkeypatch.setattr(agent, "run", lambda *command: said[command[0]])
    watcher = agent.Agent({"save_signal": "", "idle_minutes": 10}, None, now=lambda: 0, ticks=lambda: clock[0])

    def heartbeat(seconds: float) -> Any:
        clock[0] = seconds
        watcher.round()
        return json.loads((tmp_path / "heartbeat.json").read_text())

    assert heartbeat(60.0)["idle"] is False
    assert heartbeat(660.0)["idle"] is True
    said["nvidia-smi"] = "0\n97\n"
    assert heartbeat(720.0)["gpu_busy_percent"] == 97
    assert heartbeat(726.0)["idle"] is False
    assert 0 <= heartbeat(732.0)["disk_percent"] <= 100


@pytest.mark.parametrize("step", [-3600, 3600])
def test_a_clock_that_is_stepped_stops_no_heartbeat_and_makes_nothing_idle(
    agent: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr(agent, "run", lambda *command: {"nvidia-smi": "0\n", "docker": "true\n"}[command[0]])
    clock, ticks = [5000], [0.0]
    settings = {"save_signal": "", "idle_minutes": 10}
    watcher = agent.Agent(settings, None, now=lambda: clock[0], ticks=lambda: ticks[0])
    watcher.round()
    clock[0], ticks[0] = clock[0] + step, 6.0
    watcher.round()
    beat = json.loads((tmp_path / "heartbeat.json").read_text())
    assert (beat["at"], beat["idle"]) == (clock[0], False)


def test_the_fullest_disk_is_told_as_df_counts(agent: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def statvfs(path: str) -> SimpleNamespace:
        if path == "/none":
            raise FileNotFoundError(path)
        # of 1000 blocks 50 are kept for root
        free = {"/": 550, "/data": 98}[path]
        return SimpleNamespace(f_blocks=1000, f_bfree=free, f_bavail=free - 50)

    monkeypatch.setattr(agent.os, "statvfs", statvfs)
    assert agent.disk_percent(("/none",)) == 0
    assert agent.disk_percent(("/", "/none")) == 48
    assert agent.disk_percent(("/", "/data")) == 95


def test_a_machine_that_is_no_cloud_has_a_file_for_it(agent: ModuleType, tmp_path: Path) -> None:
    source = agent.Local(str(tmp_path / "cloud.json"))
    assert source.notice() is None
    (tmp_path / "cloud.json").write_text('{"action": "terminate"}')
    assert source.notice() == {"action": "terminate"}


def test_the_drill_writes_where_the_agent_looks(agent: ModuleType) -> None:
    from trainrig.clouds.local.drill import NOTICE_FILE

    assert agent.LOCAL == NOTICE_FILE
