"""A rendered folder needs no trainrig: plain `terraform` finds its module, its values and, locally, its provider."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from trainrig import app
from trainrig.tools import terraform_program

pytestmark = pytest.mark.terraform
JOB = "name: a-job\nresources: {cpus: 1+}\nrun: 'true'\n"


def terraform(folder: Path, *words: str) -> str:
    argv = [*terraform_program.find().argv, *words]
    env = {**os.environ, "CHECKPOINT_DISABLE": "1"}
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_is_initialised_and_valid_and_reads_its_values(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    assert app.run(["render", str(tmp_path / "job.yaml"), "--out", str(tmp_path / "rig"), "--quiet"]) == 0
    folder = tmp_path / "rig"
    terraform(folder, "init", "-input=false")
    assert json.loads(terraform(folder, "validate", "-json"))["valid"]
    assert terraform(folder, "fmt", "-check", "-recursive") == ""
