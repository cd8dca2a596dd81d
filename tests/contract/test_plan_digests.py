"""One meaning, one digest: offline and with providers, here and on the machine that applies, on every cloud."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support.cli import trainrig
from support.standin.serve import serve
from trainrig import assets
from trainrig.errors import PlanStale
from trainrig.lifecycle import frozen
from trainrig.lifecycle.context import opened
from trainrig.lifecycle.load_job import find_environment

pytestmark = pytest.mark.terraform

JOBS = {
    "aws": '{accelerators: "A100:8", use_spot: true, labels: {cost-center: x}}',
    "gcp": '{accelerators: "A100:8", use_spot: true, labels: {cost-center: x}}',
    "azure": '{accelerators: "A100-80GB-PCIe:1", labels: {cost-center: x}}',
}


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """`plan` of a job for a team whose state is local; the providers are stand-ins."""
    here("198.51.100.9", monkeypatch)
    team = (assets.path("environments") / "team.yaml").read_text()
    state, store = team.index("# Terraform's state"), team.index("checkpoint_store")
    (tmp_path / "team.yaml").write_text(team[:state] + team[store:])
    (tmp_path / "trainrig.lock").write_text(assets.data("pins.yaml").read_text().replace("pins/1", "lock/1"))
    with serve(tmp_path / "cloud") as env:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        yield ["plan", str(tmp_path / "job.yaml"), "--env", str(tmp_path / "team.yaml"), "--quiet", "--format", "json"]


def here(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainrig.lifecycle.caller.caller_address", lambda: address)


def job(cloud: str, tmp_path: Path) -> None:
    nodes = "num_nodes: 2\nplacement: {same: region}\n"
    (tmp_path / "job.yaml").write_text(
        f"name: train\nresources: {JOBS[cloud]}\n{nodes}run: 'true'\nexpected_hours: 5\n"
    )


@pytest.mark.parametrize("cloud", JOBS)
def test_a_reviewed_plan_is_the_same_elsewhere(
    cloud: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job(cloud, tmp_path)
    plans = {}
    for name, more in (("online", []), ("offline", ["--offline"])):
        ran = trainrig(capsys, *words, "--cloud", cloud, "--out", str(tmp_path / name), *more)
        assert ran.code == 0, ran.err
        plans[name] = ran.document
    assert plans["offline"]["digest"] == plans["online"]["digest"]
    assert plans["offline"]["terraform_digest"] is None
    assert "198.51.100.9/32" in json.dumps(plans["online"]["resource_changes"])

    monkeypatch.setenv("TRAINRIG_HOME", str(tmp_path / "another machine"))
    here("203.0.113.77", monkeypatch)
    for name in plans:
        with opened(find_environment(str(tmp_path / "team.yaml"))) as context:
            order = frozen.thaw(
                replace(context, now=lambda: datetime.now(UTC) + timedelta(hours=20)), tmp_path / name
            ).order
            root = tmp_path / "attempts" / name / "1-1"
            order.make_root(order.candidates[0], root, "1-1")
            values = json.loads((root / "terraform.tfvars.json").read_text())
            assert values["ssh_ingress_cidrs"] == ["203.0.113.77/32"]
            assert order.review is not None
            with context.terraform(root, cloud) as terraform:
                terraform.init().check()
                terraform.plan().check()
                order.review(terraform, terraform.show_plan())
                values["disk_gb"] += 1
                (root / "terraform.tfvars.json").write_text(json.dumps(values))
                terraform.plan().check()
                if name == "online":
                    with pytest.raises(PlanStale, match="not what was reviewed"):
                        order.review(terraform, terraform.show_plan())
