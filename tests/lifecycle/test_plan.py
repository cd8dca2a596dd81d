"""The verb plan: what it freezes, with a real Terraform and without anything."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Ran, trainrig
from support.schemas import check
from trainrig import assets
from trainrig.store import plan_folder

pytestmark = pytest.mark.terraform

LOCAL = "name: tiny\nresources: {cpus: 1+}\nrun: 'true'\nsecrets: {TOKEN: planted-secret-value}\n"
CLOUDS = """
name: train
num_nodes: 2
resources: {accelerators: "A100:8", use_spot: true, labels: {cost-center: x}}
image: ghcr.io/team/train:1.2
run: python train.py
expected_hours: 5
"""
Plan = Callable[..., Ran]


@pytest.fixture
def plan(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.setenv("TRAINRIG_CACHE", str(tmp_path / "cache"))

    def run(job: str, *words: str) -> Ran:
        (tmp_path / "job.yaml").write_text(job)
        return trainrig(capsys, "plan", str(tmp_path / "job.yaml"), "--quiet", *words)

    return run


def offline(plan: Plan, cloud: str, *words: str) -> Ran:
    team = assets.path("environments") / "team.yaml"
    return plan(CLOUDS, "--env", str(team), "--offline", "--cloud", cloud, "--format", "json", *words)


def test_a_plan_folder_holds_all_that_is_reviewed_and_no_secret(plan: Plan, tmp_path: Path) -> None:
    out = tmp_path / "plan"
    ran = plan(LOCAL, "--out", str(out), "--format", "json", "--detailed-exitcode")
    assert ran.code == 2, ran.err
    check(ran.document)
    folder = plan_folder.read(out)
    check(folder.manifest)
    check(folder.document("plan.json"))
    check(folder.document("placement.json"))
    assert set(folder.root) >= {"main.tf", "variables.tf", "terraform.tfvars.json", "job.json"}
    assert {"summary.md", "trainrig.lock", "environment.json"} <= set(folder.files)
    written = b"".join(p.read_bytes() for p in out.rglob("*") if p.is_file())
    assert b"PRIVATE KEY" not in written
    assert b"planted-secret-value" not in written
    assert not list(out.rglob("tfplan"))
    assert {p.stat().st_mode & 0o077 for p in out.rglob("*") if p.suffix == ".json"} == {0}
    assert ran.document["resources"] == {"add": 2, "change": 0, "destroy": 0, "replace": 0}


def test_two_plans_of_a_job_have_one_digest_and_another_job_has_another(plan: Plan) -> None:
    first, second = (plan(LOCAL, "--format", "json").document for _ in range(2))
    other = plan(LOCAL, "--format", "json", "--set", "num_nodes=2").document
    assert first["run_id"] != second["run_id"]
    assert (first["digest"], first["terraform_digest"]) == (second["digest"], second["terraform_digest"])
    assert other["digest"] != first["digest"]
    assert other["terraform_digest"] != first["terraform_digest"]


def test_offline_asks_nobody_and_says_what_it_does_not_know(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("trainrig.tools.caller_address.urllib.request.urlopen", refuse)
    for cloud, kind, n in (("aws", "aws_instance", 22), ("gcp", "google_compute_instance", 8)):
        ran = offline(plan, cloud)
        assert ran.code == 0, ran.err
        document = ran.document
        check(document)
        assert document["chosen"]["cloud"] == cloud
        assert document["resources"]["add"] == n
        assert sum(r["type"] == kind for r in document["resource_changes"]) == 2
        assert any("no provider was asked" in what for what in document["unknown"])
        assert any("192.0.2.1/32" in what for what in document["unknown"])
        assert {r["values"] is None for r in document["resource_changes"]} == {True}


def test_the_binary_plan_is_written_on_request_for_the_owner_alone(plan: Plan, tmp_path: Path) -> None:
    target = tmp_path / "restricted" / "tfplan"
    assert plan(LOCAL, "--binary-plan", str(target)).code == 0
    assert target.stat().st_mode & 0o777 == 0o600
    assert target.stat().st_size > 0


def test_a_plan_does_not_take_over_a_folder(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    assert plan(LOCAL, "--out", str(tmp_path / "mine")).code == 64
    out = tmp_path / "plan"
    assert plan(LOCAL, "--out", str(out)).code == 0
    assert plan(LOCAL, "--out", str(out)).code == 0
    (out / "root" / "terraform.tfstate").write_text("{}")
    assert plan(LOCAL, "--out", str(out)).code == 64


def test_a_run_id_of_ones_own_names_the_rig(plan: Plan) -> None:
    document = plan(LOCAL, "--run-id", "0a1b2c3d", "--format", "json").document
    assert (document["rig"], document["run_id"]) == ("tr-tiny-0a1b2c3d", "0a1b2c3d")
    assert plan(LOCAL, "--run-id", "training").code == 64


@pytest.mark.parametrize("form", ["md", "github", "text"])
def test_people_read_the_same_digest(plan: Plan, form: str) -> None:
    assert json.loads(plan(LOCAL, "--format", "json").out)["digest"] in plan(LOCAL, "--format", form).out


def test_a_secret_that_is_written_as_a_variable_is_found_and_not_in_the_folder(plan: Plan, tmp_path: Path) -> None:
    planted = "hf_" + "Qz7Xw2Lk9Vb4Nm1Tc8Rd5Fg3Hj6" + "PsAaBb"
    job = LOCAL + f"envs: {{HF_TOKEN: {planted}, DB_PASSWORD: hunter2-hunter2, STEPS: 10}}\n"
    out = tmp_path / "plan"
    ran = plan(job, "--out", str(out), "--format", "json")
    assert {f["detail"].split()[0] for f in ran.document["findings"] if f["code"] == "secret_in_env"} == {
        "HF_TOKEN",
        "DB_PASSWORD",
    }
    assert json.loads((out / "job.json").read_text())["env"]["STEPS"] == "10"
    shown = ran.out + ran.err + "".join(p.read_text() for p in out.rglob("*") if p.is_file())
    assert planted not in shown
    assert "hunter2-hunter2" not in shown


@pytest.mark.parametrize(
    "option", ["secrets.A=hunter2-hunter2", "envs.DB_PASSWORD=hunter2-hunter2", "run=curl -H token=abcdefgh1"]
)
def test_an_option_that_holds_a_secret_is_not_kept(plan: Plan, tmp_path: Path, option: str) -> None:
    ran = plan(LOCAL, "--out", str(tmp_path / "plan"), "--offline", "--set", option)
    assert (ran.code, (tmp_path / "plan").exists()) == (64, False)
    assert "hunter2" not in ran.err
    assert plan(LOCAL, "--out", str(tmp_path / "plan"), "--offline", "--set", "secrets.A=env:A").code == 0


def test_a_key_in_the_command_is_not_in_the_folder_which_then_needs_the_job_file(
    plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, out = "AKIA" + "PLANTEDPLANTED12", tmp_path / "plan"
    job = LOCAL.replace("run: 'true'", f"run: aws configure set aws_access_key_id {key}")
    assert key in job
    ran = plan(job, "--out", str(out))
    assert ran.code == 0, ran.err
    assert key not in ran.out + "".join(p.read_text() for p in out.rglob("*") if p.is_file())
    assert plan_folder.read(out).manifest["job"]["withheld"] == ["run"]
    (tmp_path / "job.yaml").unlink()
    refused = trainrig(capsys, "apply", str(out), "--yes")
    assert (refused.code, "run of the job are no part" in refused.err) == (13, True)


def test_options_that_a_plan_has_decided_already_are_refused(
    plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "plan")
    assert plan(LOCAL, "--out", out, "--run-id", "0a1b2c3d").code == 0
    for more in (["--set", "num_nodes=2"], ["--ceiling", "1"], ["--run-id", "1a1b2c3d"]):
        assert trainrig(capsys, "apply", out, "--yes", *more).code == 64
    ran = trainrig(capsys, "apply", str(tmp_path / "job.yaml"), "--plan-digest", "sha256:x", "--yes")
    assert (ran.code, "--ceiling" in ran.err) == (64, True)
