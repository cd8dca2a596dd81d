from __future__ import annotations

from pathlib import Path

import pytest

from trainrig.errors import TerraformFailed
from trainrig.lifecycle import provider_hashes

pytestmark = pytest.mark.terraform


def test_hashes_of_a_provider_come_from_terraform_itself(tmp_path: Path) -> None:
    folder = tmp_path / "registry.terraform.io/example/thing/1.2.3/linux_amd64"
    folder.mkdir(parents=True)
    (folder / "terraform-provider-thing_v1.2.3").write_text("#!/bin/sh\n")
    found = provider_hashes.of("example/thing", "1.2.3", mirror=tmp_path)
    assert len(found) == 1
    assert found[0].startswith("h1:")


def test_a_version_that_is_nowhere_is_said(tmp_path: Path) -> None:
    with pytest.raises(TerraformFailed, match=r"example/thing"):
        provider_hashes.of("example/thing", "9.9.9", mirror=tmp_path)
