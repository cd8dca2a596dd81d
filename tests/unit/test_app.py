from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from trainrig import __version__, app, errors


def test_verbs_are_the_files_of_commands() -> None:
    for verb, help_text in app.verbs().items():
        assert (app.COMMANDS / f"{verb.replace('-', '_')}.py").exists() or (
            app.COMMANDS / f"{verb.replace('-', '_')}_.py"
        ).exists()
        assert help_text.endswith('"""') is False
        assert len(help_text) > 10


def test_version_in_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["--version"]) == 0
    assert capsys.readouterr().out == f"trainrig {__version__}\n"
    fast = subprocess.run([sys.executable, "-m", "trainrig", "--version"], capture_output=True, text=True, check=True)
    assert fast.stdout == f"trainrig {__version__}\n"


def test_an_unknown_verb_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["conjure"]) == 64
    assert "conjure" in capsys.readouterr().err


def _raise(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def load(_verb: str) -> object:
        raise error

    monkeypatch.setattr(app, "verbs", lambda: {"boom": "Fails."})
    monkeypatch.setattr(app, "load", load)


def test_an_error_is_text_on_stderr_and_a_document_on_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _raise(monkeypatch, errors.Unplaceable("no offer", hint="widen the job", details={"tried": 3}))
    assert app.run(["boom", "--format", "json"]) == 5
    out, err = capsys.readouterr()
    assert err == "error: no offer\nhint: widen the job\n"
    assert json.loads(out) == {
        "schema": "trainrig.error/1",
        "code": "unplaceable",
        "message": "no offer",
        "hint": "widen the job",
        "position": None,
        "details": {"tried": 3},
    }


def test_words_after_two_dashes_belong_to_the_job(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _raise(monkeypatch, errors.Unplaceable("no offer"))
    app.run(["boom", "--", "--format", "json"])
    assert capsys.readouterr().out == ""


def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _raise(monkeypatch, KeyboardInterrupt())
    assert app.run(["boom"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_an_unexpected_error_leaves_a_log_and_prints_its_path(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], isolated: Path
) -> None:
    _raise(monkeypatch, ValueError("never thought of"))
    assert app.run(["boom"]) == 1
    (log,) = (isolated / "logs").iterdir()
    assert str(log) in capsys.readouterr().err
    assert "ValueError: never thought of" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600
