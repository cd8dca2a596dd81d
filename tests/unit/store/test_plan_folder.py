from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainrig.errors import PlanStale, UsageError
from trainrig.store import plan_folder

FILES = {"root/main.tf": "a", "root/module/main.tf": "b", "plan.json": "{}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    plan_folder.write(tmp_path / "plan", FILES, {"expires_at": "2026-01-01T00:00:00Z"})
    return tmp_path / "plan"


def test_what_is_written_comes_back(folder: Path) -> None:
    found = plan_folder.read(folder)
    assert found.files == FILES
    assert found.root == {"main.tf": "a", "module/main.tf": "b"}
    assert found.document("plan.json") == {}


def test_a_newer_plan_takes_the_place_of_an_older_one(folder: Path) -> None:
    plan_folder.write(folder, {"root/main.tf": "c"}, {})
    assert plan_folder.read(folder).root == {"main.tf": "c"}


@pytest.mark.parametrize(
    "name", ["root/evil.tf", "root/evil.auto.tfvars", "root/module/evil.tf.json", "root/evil.auto.tfvars.json"]
)
def test_what_terraform_would_read_beside_the_plan_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_text("")
    with pytest.raises(PlanStale, match=name.rpartition("/")[2]):
        plan_folder.read(folder)


def test_a_manifest_that_points_outside_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "passwd").write_text("x")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["../passwd"] = plan_folder.write(tmp_path / "other", {"a": "x"}, {})["files"]["a"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(PlanStale, match="passwd"):
        plan_folder.read(folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "trainrig.manifest/1", "files": []}'])
def test_what_is_no_manifest_is_no_plan(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text)
    with pytest.raises(UsageError):
        plan_folder.read(folder)
