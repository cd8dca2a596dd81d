from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import schemas
from trainrig import app, assets

JOB = "name: tiny\nresources: {cpus: 1+}\nrun: 'true'\n"


@pytest.fixture(autouse=True)
def fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")


def render(tmp_path: Path, out: str, *more: str, job: str = JOB) -> int:
    (tmp_path / "job.yaml").write_text(job)
    return app.run(["render", str(tmp_path / "job.yaml"), "--out", str(tmp_path / out), *more])


def test_two_renders_of_a_job_are_the_same_bytes(tmp_path: Path) -> None:
    assert render(tmp_path, "a") == render(tmp_path, "b") == 0
    first, second = (
        {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()}
        for root in (tmp_path / "a", tmp_path / "b")
    )
    assert first == second
    assert Path("job.json") in first


def test_a_folder_with_another_rigs_state_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert render(tmp_path, "a") == 0
    (tmp_path / "a" / "terraform.tfstate").write_text('{"resources": [{"name": "tr-other-abcd2345-0"}]}')
    assert render(tmp_path, "a") == 64
    assert "state of another rig" in capsys.readouterr().err


def test_a_container_that_moves_is_refused_until_it_is_locked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = JOB + "image: team/train:latest\n"
    assert render(tmp_path, "a", job=job) == 3
    assert "the tag `latest` moves" in capsys.readouterr().err
    digest = "sha256:" + "a" * 64
    (tmp_path / "trainrig.lock").write_text(f"schema: trainrig.lock/1\ncontainers:\n  team/train:latest: {digest}\n")
    assert render(tmp_path, "a", job=job) == 0
    assert json.loads((tmp_path / "a" / "job.json").read_text())["image"] == f"team/train:latest@{digest}"


def test_json_tells_what_was_rendered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert render(tmp_path, "a", "--format", "json", "--run-id", "abcd2345") == 0
    document = json.loads(capsys.readouterr().out)
    schemas.check(document)
    assert document["rig"] == "tr-tiny-abcd2345"
    assert document["cloud"] == "local"
    assert set(document["files"]) >= {"main.tf", "job.json", "terraform.tfvars.json"}


def test_no_offer_of_the_asked_cloud_is_unplaceable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert render(tmp_path, "a", "--cloud", "aws") == 5
    assert "no offer of aws fits tiny" in capsys.readouterr().err


def test_the_shipped_example_renders(tmp_path: Path) -> None:
    example = assets.path("examples") / "hello.yaml"
    assert app.run(["render", str(example), "--out", str(tmp_path / "hello"), "--quiet"]) == 0


def test_an_image_that_the_nodes_cannot_pull_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "env.yaml").write_text("clouds: {azure: {account: {subscription: s}}}\nssh_ingress: [203.0.113.7/32]\n")
    job = f"name: tiny\nresources: {{accelerators: T4:1}}\nrun: x\nimage: team.azurecr.io/a@sha256:{'ab' * 32}\n"
    assert render(tmp_path, "a", "--env", str(tmp_path / "env.yaml"), job=job) == 0
    assert "no node may pull from the registry team: set `account: {registry_resource_group" in capsys.readouterr().err
