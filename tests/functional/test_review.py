"""A plan that was reviewed, applied on this machine as it is, and refused once it is not what was reviewed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.cli import trainrig
from support.schemas import check

pytestmark = [pytest.mark.docker, pytest.mark.terraform, pytest.mark.slow]

JOB = "name: {name}\nresources:\n  use_spot: true\n  cpus: 1+\nrun: 'true'\n"


def test_plan_apply_again_destroy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = f"review-{tmp_path.name[-8:].strip('_').replace('_', '-')}"
    job, plan, other = tmp_path / "job.yaml", tmp_path / "plan", tmp_path / "other"
    job.write_text(JOB.format(name=name))
    planned = trainrig(capsys, "plan", str(job), "--out", str(plan), "--format", "json")
    assert planned.code == 0, planned.err
    shutil.copytree(plan, other)
    (other / "root" / "main.tf").write_text((plan / "root" / "main.tf").read_text() + "\n")
    refused = trainrig(capsys, "apply", str(other), "--yes", "--format", "json")
    assert (refused.code, refused.document["code"]) == (13, "plan_stale")
    assert "root/main.tf" in refused.document["message"]
    assert trainrig(capsys, "apply", str(plan), "--plan-digest", "sha256:other", "--yes").code == 13
    up = trainrig(capsys, "apply", str(plan), "--yes", "--format", "json")
    try:
        assert up.code == 0, up.err
        check(up.document)
        assert up.document["rigs"][0]["run_id"] == planned.document["run_id"]
        assert up.document["rigs"][0]["nodes"][0]["seen"]
        same = trainrig(capsys, "plan", str(job), "--detailed-exitcode", "--format", "json")
        assert (same.code, same.document["resource_changes"]) == (0, [])
        assert same.document["run_id"] == planned.document["run_id"]
        again = trainrig(capsys, "apply", str(plan), "--yes", "--format", "json")
        first, second = (ran.document["rigs"][0] for ran in (up, again))
        assert (len(second["attempts"]), second["nodes"]) == (1, first["nodes"])
    finally:
        gone = trainrig(capsys, "destroy", name, "--format", "json")
    assert (gone.code, gone.document["clean"]) == (0, True)
    assert trainrig(capsys, "apply", str(plan), "--yes").code == 13
    digest, ceiling = planned.document["digest"], planned.document["cost"]["ceiling_hour_usd"]
    by_digest = trainrig(
        capsys, "apply", str(job), "--plan-digest", digest, "--ceiling", ceiling, "--yes", "--format", "json"
    )
    try:
        assert by_digest.code == 0, by_digest.err
    finally:
        assert trainrig(capsys, "destroy", name).code == 0
