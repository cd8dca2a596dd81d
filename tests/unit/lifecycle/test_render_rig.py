from __future__ import annotations

from pathlib import Path

import pytest

from trainrig.errors import NotBuilt
from trainrig.lifecycle import render_rig


def test_a_rendered_folder_is_private_and_keeps_terraforms_own_files(tmp_path: Path) -> None:
    out = tmp_path / "rig"
    render_rig.write({"main.tf": "a\n", "module/old.tf": "x\n", "backend.tf.json": "{}\n"}, out)
    (out / "terraform.tfstate").write_text("{}")
    render_rig.write({"main.tf": "b\n", "module/new.tf": "y\n"}, out)
    names = sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())
    assert names == ["main.tf", "module/new.tf", "terraform.tfstate"]
    assert (out / "main.tf").read_text() == "b\n"
    assert (out / "main.tf").stat().st_mode & 0o777 == 0o600
    assert out.stat().st_mode & 0o777 == 0o700


def test_a_cloud_without_a_module_says_so() -> None:
    with pytest.raises(NotBuilt, match="nimbus: there is no Terraform module yet"):
        render_rig.module("nimbus")
