"""Plans that are frozen for review; what may move before they are applied, and what may not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from trainrig import settings
from trainrig.errors import PlanStale, UsageError
from trainrig.lifecycle import frozen, plan_out
from trainrig.lifecycle import plan as planning
from trainrig.lifecycle.apply_job import Applied, prepare
from trainrig.lifecycle.context import Context, opened
from trainrig.lifecycle.load_job import find_environment, load_job
from trainrig.model.clock import iso
from trainrig.model.placement import Candidate
from trainrig.model.rig import RigState

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
    return write(context, job_file, tmp_path / "plan")


def write(context: Context, job_file: Path, out: Path, *, offline: bool = False) -> Path:
    (job,), environment = load_job(job_file, "local")
    planned = planning.plan(context, job, environment, keep=True, offline=offline)
    plan_out.write(planned, out, overrides=(), cloud=None)
    return out


def test_what_is_frozen_comes_back(context: Context, plan: Path) -> None:
    applied = frozen.thaw(context, plan)
    manifest = json.loads((plan / "manifest.json").read_text())
    assert applied.run.identity.run_id == manifest["rig"]["run_id"]
    assert applied.run.job.name == "frozen"
    assert applied.order.details["plan_digest"] == manifest["plan_digest"]
    assert not any("id_ed25519" in name or "tfplan" in name for name in manifest["files"])


def test_the_reviewed_root_is_the_reviewed_plan_on_another_machine_and_day(
    context: Context, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINRIG_HOME", str(tmp_path / "another machine"))
    with opened(find_environment("local")) as there:
        later = there.now() + timedelta(hours=20)
        applied = frozen.thaw(replace(there, now=lambda: later), plan)
        planned_and_reviewed(there, applied, tmp_path / "1-1")
    values = json.loads((tmp_path / "1-1" / "terraform.tfvars.json").read_text())
    assert values["ssh_public_key"] == next(settings.home().glob("rigs/*/id_ed25519.pub")).read_text().strip()
    assert values["rig"]["expires_at"] == iso(applied.run.identity.expires_at)
    assert applied.run.identity.expires_at > later + timedelta(hours=11)


def planned_and_reviewed(context: Context, applied: Applied, root: Path) -> None:
    order = applied.order
    assert order.review is not None
    order.make_root(order.candidates[0], root, root.name)
    with context.terraform(root, "local") as terraform:
        terraform.init().check()
        terraform.plan().check()
        order.review(terraform, terraform.show_plan())


def test_a_root_that_plans_otherwise_is_refused(context: Context, plan: Path, tmp_path: Path) -> None:
    applied = frozen.thaw(context, plan)
    made = applied.order.make_root

    def make_root(candidate: Candidate, root: Path, attempt: str) -> None:
        made(candidate, root, attempt)
        path = root / "terraform.tfvars.json"
        path.write_text(path.read_text().replace('"nodes": 1', '"nodes": 2'))

    with pytest.raises(PlanStale, match="not what was reviewed"):
        planned_and_reviewed(
            context, replace(applied, order=replace(applied.order, make_root=make_root)), tmp_path / "1-1"
        )


def test_a_state_that_moved_is_refused(context: Context, plan: Path, tmp_path: Path) -> None:
    root = tmp_path / "1-1"
    root.mkdir()
    state = {"version": 4, "terraform_version": "1.11.4", "serial": 3, "lineage": "x", "outputs": {}, "resources": []}
    (root / "terraform.tfstate").write_text(json.dumps(state))
    with pytest.raises(PlanStale, match="serial 3 now, 0 when planned"):
        planned_and_reviewed(context, frozen.thaw(context, plan), root)


def test_prices_above_the_ceiling_are_refused_with_the_numbers(
    context: Context, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dear = Decimal(99)
    monkeypatch.setattr("trainrig.lifecycle.frozen.quotes", lambda *_: lambda _offer: dear)
    with pytest.raises(PlanStale, match=r"\$99\.00 an hour now, \$0\.0\d were approved"):
        frozen.thaw(context, plan)


def test_fallbacks_are_those_that_were_reviewed(context: Context, plan: Path) -> None:
    reviewed = json.loads((plan / "placement.json").read_text())
    wanted = [c["instance_type"] for c in (reviewed["chosen"], *reviewed["fallbacks"])]
    assert [c.offer.instance_type for c in frozen.thaw(context, plan).order.candidates] == wanted


def test_a_fallback_has_a_root_of_its_own_with_the_reviewed_lock(context: Context, plan: Path, tmp_path: Path) -> None:
    order = frozen.thaw(context, plan).order
    for number, candidate in enumerate(order.candidates[:2], 1):
        order.make_root(candidate, tmp_path / f"1-{number}", f"1-{number}")
    first, second = (json.loads((tmp_path / f"1-{n}" / "terraform.tfvars.json").read_text()) for n in (1, 2))
    assert second["instance_type"] == order.candidates[1].offer.instance_type != first["instance_type"]
    assert second["image"] == first["image"]


def test_a_digest_alone_is_enough_to_hold_an_apply_to_a_review(
    context: Context, job_file: Path, tmp_path: Path
) -> None:
    (job,), environment = load_job(job_file, "local")
    reviewed = planning.plan(context, job, environment, keep=False).plan.digest
    planned_and_reviewed(
        context, frozen.require(prepare(context, job, environment), reviewed, Decimal(99)), tmp_path / "1-1"
    )
    with pytest.raises(PlanStale, match="not what was reviewed"):
        planned_and_reviewed(
            context, frozen.require(prepare(context, job, environment), "sha256:other", Decimal(99)), tmp_path / "1-2"
        )


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
    with pytest.raises(PlanStale, match="cannot be read any more"):
        frozen.thaw(context, plan)
    (job_file.parent / "trainrig.lock").write_text("schema: trainrig.lock/1\n")
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
    assert frozen.thaw(context, plan).begun
    context.journal.start_attempt(identity.run_id, 1, frozen.thaw(context, plan).order.candidates[0])
    context.journal.set_state(identity.run_id, RigState.DESTROYED, clean=True)
    with pytest.raises(PlanStale, match="was applied before"):
        frozen.thaw(context, plan)


def test_a_folder_without_a_plan_says_so(context: Context, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no plan"):
        frozen.thaw(context, tmp_path)
    (tmp_path / "manifest.json").write_text('{"schema": "trainrig.manifest/9"}')
    with pytest.raises(UsageError, match="is not trainrig"):
        frozen.thaw(context, tmp_path)


def test_values_that_are_no_part_of_a_plan_come_from_the_job_file(context: Context, job_file: Path) -> None:
    job_file.write_text(JOB + "envs: {API_TOKEN: planted-value-1234}\n")
    out = write(context, job_file, job_file.parent / "plan")
    assert frozen.thaw(context, out).run.job.env["API_TOKEN"] == "planted-value-1234"
    job_file.unlink()
    with pytest.raises(PlanStale, match="API_TOKEN of the job are no part of a plan"):
        frozen.thaw(context, out)
