"""Checkpoints for real: which one a run begins with, and what is saved when a node is taken away."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.program import Program, last_document, left_of
from support.schemas import check

pytestmark = [pytest.mark.docker, pytest.mark.terraform, pytest.mark.slow]

# The first time it saves and fails; given what it saved, it ends well.
HALVES = """
name: halves
checkpoints: {path: /checkpoints, interval: 1s}
outputs: {metrics: /outputs/metrics.json}
run: |
  if [ -f /checkpoints/half ]; then
    echo "{\\"first_half\\": \\"$(cat /checkpoints/half)\\"}" >/outputs/metrics.json
    exit 0
  fi
  echo "of $TRAINRIG_RUN_ID" >/checkpoints/.new && mv /checkpoints/.new /checkpoints/half
  exit 3
"""


@pytest.fixture
def program(isolated: Path, tmp_path: Path) -> Program:
    return Program(isolated, tmp_path)


def test_a_new_run_goes_on_with_a_checkpoint_of_an_earlier_one(program: Program) -> None:
    (program.workdir / "halves.yaml").write_text(HALVES)
    refused = program.run("run", "halves.yaml", "--set", "checkpoints.resume=from:nobody", "--format", "json")
    assert refused.returncode == 3
    assert "there is no rig 'nobody'" in refused.stderr

    first = program.run("run", "halves.yaml", "--format", "json")
    assert first.returncode == 9, first.stderr
    second = program.run("run", "halves.yaml", "--format", "json")
    assert second.returncode == 0, second.stderr
    begun, ended = last_document(first.stdout), last_document(second.stdout)
    check(ended)
    assert ended["metrics"]["first_half"] == f"of {begun['run_id']}"
    assert f"resume from checkpoint 000001-000001 of run {begun['run_id']}" in second.stderr

    # The work is done, so another run of it begins with nothing, unless it names the run.
    third = program.run("run", "halves.yaml", "--set", f"checkpoints.resume=from:{begun['run_id']}", "--format", "json")
    assert third.returncode == 0, third.stderr
    assert last_document(third.stdout)["metrics"]["first_half"] == f"of {begun['run_id']}"
    assert left_of(begun["run_id"]) == left_of(ended["run_id"]) == []
