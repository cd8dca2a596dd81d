"""`terraform test` of each module, rigs and stores: its own logic and what it refuses, with mocked providers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.module_docs import MODULES
from support.standin.serve import serve
from support.terraform_root import Root

pytestmark = pytest.mark.terraform
TESTED = sorted(path.parents[1] for path in MODULES.glob("**/tests/*.tftest.hcl"))


@pytest.mark.parametrize("module", TESTED, ids=lambda path: path.relative_to(MODULES).as_posix())
def test_the_modules_own_tests_pass(module: Path, tmp_path: Path) -> None:
    shutil.copytree(module, tmp_path / "module", ignore=shutil.ignore_patterns(".terraform*"))
    with serve(tmp_path / "cloud") as env:  # a mock still takes its schema from the provider
        root = Root(tmp_path / "module", env)
        root.run("init", "-input=false")
        assert ", 0 failed" in root.run("test", "-no-color")


def test_every_rig_and_every_store_has_some() -> None:
    names = {path.relative_to(MODULES).as_posix() for path in TESTED}
    clouds = ("aws", "gcp", "azure")
    assert names >= {*clouds, *(f"checkpoint_store/{cloud}" for cloud in clouds)}
