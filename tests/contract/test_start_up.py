"""Quick verbs load no cloud SDK and nothing else that is slow to import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = {
    "boto3",
    "botocore",
    "google.cloud",
    "azure",
    "docker",
    "tf",
    "grpc",
    "ansible",
    "ansible_runner",
    "python_terraform",
    "pydantic",
    "rich",
    "jinja2",
    "requests",
    "dbos",
    "sqlalchemy",
    "cryptography",
}
SCRIPT = """
import contextlib, io, json, sys
from trainrig.app import run
with contextlib.redirect_stdout(io.StringIO()):
    code = run(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]))
"""


@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        ["--help"],
        ["explain", "--gpu", "A100:8", "--env", "team.yaml", "--", "train.py"],
        ["offers", "--gpu", "A100:8"],
        ["breakeven", "--data-gb", "1", "--egress-gb-usd", "1", "--price-from", "2", "--price-to", "1"],
    ],
    ids=lambda words: words[0],
)
def test_it_loads_nothing_slow(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text("clouds: {aws: {}, gcp: {}, azure: {}}\n")
    path = os.pathsep.join([str(Path(__file__).parents[2] / "cli"), os.environ.get("PYTHONPATH", "")])

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )

    code, modules = json.loads(done.stdout)
    assert code == 0, done.stderr
    loaded = {m for m in modules if any(m == slow or m.startswith(f"{slow}.") for slow in SLOW)}
    assert loaded == set()
    # Asking every installed package for its entry points takes longer than placing a job; only a list of all asks.
    assert "importlib.metadata" not in modules or words[0] == "offers"
