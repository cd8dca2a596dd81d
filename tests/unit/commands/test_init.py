from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainrig.app import run


def test_init_prints_what_it_wrote_and_says_what_comes_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--dir", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert out.split() == [str(tmp_path / "hello.yaml"), str(tmp_path / "environments/local.yaml")]
    assert f"next: trainrig explain {tmp_path / 'hello.yaml'}\n" in err


def test_init_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "finetune", "--dir", str(tmp_path), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "trainrig.init/1"
    assert document["environment"] == "team"


def test_the_list_of_templates(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--list"]) == 0
    assert "multi-node" in capsys.readouterr().out
    assert run(["init", "--list", "--format", "json"]) == 0
    assert "hello" in json.loads(capsys.readouterr().out)["templates"]


def test_a_second_init_is_a_usage_error(tmp_path: Path) -> None:
    assert run(["init", "--dir", str(tmp_path), "--quiet"]) == 0
    assert run(["init", "--dir", str(tmp_path)]) == 64
