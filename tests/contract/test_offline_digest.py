"""What is reviewed offline is what a plan with providers and credentials finds: one digest, on every cloud."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import trainrig
from support.standin.serve import serve
from trainrig import assets

pytestmark = pytest.mark.terraform

JOB = """
name: train
num_nodes: 2
resources: {{accelerators: "{gpu}", use_spot: {spot}, labels: {{cost-center: x}}}}
placement: {{same: region}}
run: python train.py
expected_hours: 5
"""


@pytest.mark.parametrize(("cloud", "gpu", "spot"), [("aws", "A100:8", "true"), ("gcp", "A100:8", "true")])
def test_both_plans_have_one_digest(
    cloud: str, gpu: str, spot: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainrig.lifecycle.caller.caller_address", lambda: "198.51.100.9")
    team = (assets.path("environments") / "team.yaml").read_text()
    (tmp_path / "team.yaml").write_text(
        team[: team.index("# Terraform's state")] + team[team.index("checkpoint_store") :]
    )
    (tmp_path / "job.yaml").write_text(JOB.format(gpu=gpu, spot=spot))
    (tmp_path / "trainrig.lock").write_text((assets.data("pins.yaml")).read_text().replace("pins/1", "lock/1"))
    words = ["plan", str(tmp_path / "job.yaml"), "--env", str(tmp_path / "team.yaml"), "--cloud", cloud]
    words += ["--format", "json", "--quiet"]
    with serve(tmp_path / "cloud") as env:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        online = trainrig(capsys, *words)
        assert online.code == 0, online.err
    offline = trainrig(capsys, *words, "--offline")
    assert offline.document["digest"] == online.document["digest"]
    assert offline.document["terraform_digest"] is None
    assert any("198.51.100.9/32" in str(r["values"]) for r in online.document["resource_changes"])
