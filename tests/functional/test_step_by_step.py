"""A rig taken step by step on this machine, by the verbs alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.cli import trainrig
from support.schemas import check

pytestmark = [pytest.mark.docker, pytest.mark.terraform, pytest.mark.slow]

JOB = "name: {name}\nnum_nodes: 2\nresources:\n  use_spot: true\n  cpus: 1+\nrun: 'true'\n"


def test_apply_drift_destroy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = f"steps-{tmp_path.name[-8:].strip('_').replace('_', '-')}"
    job = tmp_path / "job.yaml"
    job.write_text(JOB.format(name=name))
    up = trainrig(capsys, "apply", str(job), "--yes", "--format", "json")
    try:
        assert up.code == 0, up.err
        check(up.document)
        (rig,) = up.document["rigs"]
        assert (rig["state"], [n["seen"] for n in rig["nodes"]]) == ("configuring", [True, True])
        assert trainrig(capsys, "drift", name, "--detailed-exitcode").code == 0
        again = trainrig(capsys, "apply", str(job), "--yes", "--format", "json").document["rigs"][0]
        assert again["run_id"] == rig["run_id"]

        subprocess.run(["docker", "kill", rig["nodes"][1]["instance_id"]], check=True, capture_output=True)
        (drift,) = trainrig(capsys, "drift", name, "--format", "json").document["drift"]
        assert (drift["kind"], drift["id"]) == ("preempted", rig["nodes"][1]["instance_id"])
    finally:
        gone = trainrig(capsys, "destroy", name, "--format", "json")
    assert (gone.code, gone.document["clean"]) == (0, True)
    left = ["docker", "ps", "-aq", "--filter", f"label=trainrig-run-id={rig['run_id']}"]
    assert subprocess.run(left, check=True, capture_output=True, text=True).stdout == ""
