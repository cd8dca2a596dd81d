"""Planted secrets, and every way out of the process."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from trainrig import app, console, errors
from trainrig.console import Console
from trainrig.lifecycle.log_files import LogFiles
from trainrig.lifecycle.secret_values import secret_values
from trainrig.model.events import LogLine, silent
from trainrig.model.job import Job

PLANTED = "correct-horse-7"


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job's secret, resolved as a run resolves it."""
    monkeypatch.setattr(console, "_secrets", set())
    secret_values(Job(name="a", options=(), secrets={"HF_TOKEN": "env:PLANTED"}), {"PLANTED": PLANTED})


def test_no_stream_carries_a_known_secret(capsys: pytest.CaptureFixture[str]) -> None:
    out = Console()
    out.data(f"data {PLANTED}")
    out.stream(iter([f"row {PLANTED}\n"]))
    out.document({"note": f"uses {PLANTED}"})
    out.say(f"talk {PLANTED}")
    out.log_line(LogLine(rank=0, text=f"echo {PLANTED}"))
    captured = capsys.readouterr()
    assert PLANTED not in captured.out + captured.err
    assert captured.out.count("***") == 4
    assert "talk ***" in captured.err


@pytest.mark.parametrize("line", [True, False])
def test_a_name_that_is_no_text_is_escaped_in_a_document(
    capsysbinary: pytest.CaptureFixture[bytes], line: bool
) -> None:
    for name in ("é", "latin-\udce9"):
        Console().document({"files": {name: 1}}, line=line)
        out = capsysbinary.readouterr().out
        assert json.loads(out) == {"files": {name: 1}}
        assert ("é".encode() in out) is (name == "é")


def test_a_jobs_log_file_does_not_keep_it(tmp_path: Path) -> None:
    files = LogFiles(tmp_path, silent, generation=1)
    files(LogLine(rank=0, text=f"token is {PLANTED}", cursor="c"))
    files.close()
    assert (tmp_path / "rank-0.log").read_text() == "token is ***\n"


def test_errors_and_crash_logs_are_clean(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], isolated: Path
) -> None:
    looks_like_one = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzKEY5p9q"

    def load(_verb: str) -> object:
        raise RuntimeError(f"the API said {PLANTED} and {looks_like_one}")

    monkeypatch.setattr(app, "verbs", lambda: {"boom": "Fails."})
    monkeypatch.setattr(app, "load", load)
    assert app.run(["boom", "--format", "json"]) == 1
    said = io.StringIO(capsys.readouterr().out).read()
    (log,) = (isolated / "logs").glob("crash-*.log")
    for text in (said, log.read_text()):
        assert PLANTED not in text
        assert looks_like_one not in text
        assert "the API said *** and ***" in text


def test_details_of_an_error_are_masked_by_key(capsys: pytest.CaptureFixture[str]) -> None:
    error = errors.PreflightFailed("no", details={"token": "abc", "cloud": "aws"})
    app._report(error, ["check", "--format", "json"])
    assert '"details":{"token":"***","cloud":"aws"}' in capsys.readouterr().out


def test_a_secret_that_is_an_ordinary_word_breaks_no_document(capsys: pytest.CaptureFixture[str]) -> None:
    secrets = {"MODE": "value:offline", "FLAG": "value:true"}
    secret_values(Job(name="a", options=(), secrets=secrets), {})
    Console().document({"offline": True, "note": "offline, true", "many": ["offline"]})
    assert json.loads(capsys.readouterr().out) == {"offline": True, "note": "***, ***", "many": ["***"]}
