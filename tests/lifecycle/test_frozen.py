"""Plans that are frozen for review; what may move before they are applied, and what may not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from trainrig import settings
from trainrig.errors import PlanStale
from trainrig.lifecycle import frozen
from trainrig.lifecycle.apply_job import prepare
from trainrig.lifecycle.context import Context, opened
from trainrig.lifecycle.load_job import find_environment, load_job
from trainrig.model.rig import RigState
from trainrig.tools.terraform import Terraform

pytestmark = pytest.mark.terraform

JOB = "name: frozen\nresources:\n  cpus: 1+\nrun: 'true'\n"


@pytest.fixture
def context() -> Iterator[Context]:
    with opened(find_environment("local")) as context:
        yield context


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return path


@pytest.fixture
def plan(context: Context, tmp_path: Path, job_file: Path) -> Path:
    """A folder with a plan of the job, for this machine as the cloud."""
    (job,), environment = load_job(job_file, "local")
    run = prepare(context, job, environment).run
    found = frozen.freeze(context, run, tmp_path / "plan")
    assert found.plan is not None
    assert found.plan.summary["add"] == 2
    return tmp_path / "plan"


def test_what_is_frozen_comes_back(context: Context, plan: Path) -> None:
    applied = frozen.thaw(context, plan)
    manifest = json.loads((plan / "manifest.json").read_text())
    assert applied.run.identity.run_id == manifest["run_id"]
    assert applied.run.job.name == "frozen"
    assert applied.order.review is not None
    assert applied.order.review.digest == manifest["plan_digest"]
    assert not any("id_ed25519" in name or "tfplan" in name for name in manifest["files"])


def test_the_reviewed_root_plans_to_the_reviewed_digest_elsewhere(
    context: Context, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On another machine the key is another, and is put in after the plan was found to be the reviewed one."""
    monkeypatch.setenv("TRAINRIG_HOME", str(tmp_path / "another machine"))
    with opened(find_environment("local")) as there:
        order = frozen.thaw(there, plan).order
        root = tmp_path / "root"
        order.make_root(order.candidates[0], root, "1-1")
        with there.terraform(root, "local") as terraform:
            assert _digest(terraform) == order.review.digest  # type: ignore[union-attr]
            assert order.review.settle(root)  # type: ignore[union-attr]
            assert _digest(terraform) != order.review.digest  # type: ignore[union-attr]
    own = next(settings.home().glob("rigs/*/id_ed25519.pub")).read_text().strip()
    assert json.loads((root / "terraform.tfvars.json").read_text())["ssh_public_key"] == own


def _digest(terraform: Terraform) -> str:
    terraform.init().check()
    terraform.plan().check()
    return terraform.show_plan().digest


@pytest.mark.parametrize("name", ["root/main.tf", "root/terraform.tfvars.json", "placement.json", "identity.json"])
def test_a_file_that_changed_is_named(context: Context, plan: Path, name: str) -> None:
    (plan / name).write_text((plan / name).read_text() + " ")
    with pytest.raises(PlanStale, match=name):
        frozen.thaw(context, plan)


def test_a_file_that_came_or_went_is_named(context: Context, plan: Path) -> None:
    (plan / "root/extra.tf").write_text('resource "terraform_data" "x" {}')
    with pytest.raises(PlanStale, match=r"root/extra\.tf"):
        frozen.thaw(context, plan)
    (plan / "root/extra.tf").unlink()
    (plan / "root/variables.tf").unlink()
    with pytest.raises(PlanStale, match=r"root/variables\.tf"):
        frozen.thaw(context, plan)


def test_a_job_or_a_lock_that_moved_on_makes_it_stale(context: Context, plan: Path, job_file: Path) -> None:
    job_file.write_text(JOB.replace("1+", "2+"))
    with pytest.raises(PlanStale, match="has changed since the plan"):
        frozen.thaw(context, plan)
    job_file.write_text(JOB)
    frozen.thaw(context, plan)
    (job_file.parent / "trainrig.lock").write_text("{}")
    with pytest.raises(PlanStale, match="lock has changed"):
        frozen.thaw(context, plan)
    (job_file.parent / "trainrig.lock").unlink()
    job_file.unlink()
    frozen.thaw(context, plan)


def test_a_plan_ends(context: Context, plan: Path) -> None:
    now = context.now()
    frozen.thaw(replace(context, now=lambda: now + timedelta(hours=23)), plan)
    with pytest.raises(PlanStale, match="was good until"):
        frozen.thaw(replace(context, now=lambda: now + timedelta(hours=25)), plan)


def test_a_plan_is_applied_once(context: Context, plan: Path) -> None:
    identity = frozen.thaw(context, plan).run.identity
    context.journal.intend(identity, details={})
    frozen.thaw(context, plan)
    context.journal.set_state(identity.run_id, RigState.DESTROYED, clean=True)
    with pytest.raises(PlanStale, match="was applied before"):
        frozen.thaw(context, plan)


def test_a_folder_without_a_plan_says_so(context: Context, tmp_path: Path) -> None:
    with pytest.raises(PlanStale, match="holds no plan"):
        frozen.thaw(context, tmp_path)
    (tmp_path / "manifest.json").write_text('{"schema": "trainrig.manifest/9"}')
    with pytest.raises(PlanStale, match="is not a"):
        frozen.thaw(context, tmp_path)
