from __future__ import annotations

import signal
import sys
import time

import pytest

from trainrig.errors import CommandFailed, MissingTool
from trainrig.model.process import Command
from trainrig.tools import proc

PY = sys.executable


def python(code: str, **more: object) -> Command:
    return Command(argv=[PY, "-c", code], **more)  # type: ignore[arg-type]


def test_run_returns_what_the_child_said() -> None:
    outcome = proc.run(python("import sys; print('out'); print('err', file=sys.stderr)"))
    assert (outcome.stdout, outcome.stderr, outcome.ok) == ("out\n", "err\n", True)


def test_a_failure_shows_command_code_and_last_words() -> None:
    with pytest.raises(CommandFailed, match=r"exited with 3\n    it broke") as caught:
        proc.run(python("import sys; sys.stderr.write('it broke'); sys.exit(3)"))
    assert caught.value.details["returncode"] == 3
    assert proc.run(python("raise SystemExit(3)"), check=False).returncode == 3


def test_secrets_never_come_out() -> None:
    with pytest.raises(CommandFailed) as caught:
        proc.run(python("import sys; sys.exit('password is hunter2')", secrets=["hunter2"]))
    assert "hunter2" not in str(caught.value) + str(caught.value.details)
    assert "***" in str(caught.value)


def test_the_environment_is_an_overlay_and_none_removes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLD", "1")
    code = "import os; print(os.environ.get('OLD'), os.environ.get('NEW'))"
    assert proc.run(python(code, env={"OLD": None, "NEW": "2"})).stdout == "None 2\n"


def test_a_timeout_ends_the_whole_group() -> None:
    code = "import subprocess, time; subprocess.Popen(['sleep', '30']); print('up', flush=True); time.sleep(30)"
    began = time.monotonic()
    with pytest.raises(CommandFailed, match="did not finish"):
        proc.run(python(code, timeout_seconds=0.5))
    assert time.monotonic() - began < 10  # the grandchild held the pipe; had it lived, we would have waited 30 s


def test_what_a_child_leaves_behind_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proc, "_LOOK_SECONDS", 0.2)
    began = time.monotonic()
    outcome = proc.run(Command(argv=["sh", "-c", "echo said; sleep 60 & exit 3"]), check=False)
    assert (outcome.returncode, outcome.stdout) == (3, "said\n")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("size", [0, 1, 16_384, 300_000])
def test_a_child_that_takes_its_time_is_given_all_of_its_input(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(proc, "_LOOK_SECONDS", 0.1)
    outcome = proc.run(Command(argv=["sh", "-c", "sleep 0.5; wc -c"], stdin=b"x" * size))
    assert outcome.stdout.strip() == str(size)


def test_a_missing_program_says_what_to_do() -> None:
    with pytest.raises(MissingTool, match="no-such-program is not on PATH"):
        proc.run(Command(argv=["no-such-program"]))


def test_stream_hands_over_lines_as_they_come() -> None:
    lines: list[str] = []
    code = proc.stream(python("for i in range(3): print(i, flush=True)"), lines.append)
    assert (code, lines) == (0, ["0", "1", "2"])
    with pytest.raises(CommandFailed, match="sad end"):
        proc.stream(python("import sys; print(1); sys.exit('sad end')"), lines.append)


def test_a_stream_can_be_signalled() -> None:
    code = "import signal as s; s.signal(s.SIGINT, lambda *_: exit(5)); print('up', flush=True); s.pause()"
    child = proc.Stream(python(code))
    lines = child.lines()
    assert next(lines) == "up"
    child.signal(signal.SIGINT)
    assert child.wait(10) == 5
    assert not child.running
