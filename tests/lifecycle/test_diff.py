"""Two plan folders, as the verb plan writes them; no cloud and no Terraform."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import schemas
from trainrig import app

JOB = "name: tiny\nresources: {cpus: 1+, disk_size: 64}\nrun: 'true'\nexpected_hours: 1\n"


def plan(tmp_path: Path, out: str, job: str = JOB) -> str:
    (tmp_path / "job.yaml").write_text(job)
    assert app.run(["plan", str(tmp_path / "job.yaml"), "--offline", "--out", str(tmp_path / out)]) == 0
    return str(tmp_path / out)


def test_plans_of_the_same_job_do_not_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = plan(tmp_path, "a"), plan(tmp_path, "b")
    capsys.readouterr()
    assert app.run(["diff", old, new, "--detailed-exitcode"]) == 0
    assert capsys.readouterr().out == "tiny: the two plans are the same\n"


def test_a_changed_value_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = plan(tmp_path, "a"), plan(tmp_path, "b", JOB.replace("64", "96"))
    capsys.readouterr()
    assert app.run(["diff", old, new, "--detailed-exitcode", "--format", "json"]) == 2
    document = json.loads(capsys.readouterr().out)
    schemas.check(document)
    assert document["values"] == [{"what": "disk_gb", "old": "64", "new": "96"}]
    assert document["place"] == document["files"] == []


def test_a_folder_that_was_touched_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = plan(tmp_path, "a"), plan(tmp_path, "b")
    (tmp_path / "b" / "root" / "main.tf").write_text("# mine\n")
    assert app.run(["diff", old, new]) == 13
