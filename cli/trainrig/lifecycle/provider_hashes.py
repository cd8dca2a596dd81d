"""The hashes of a Terraform provider, as `terraform providers lock` gets them from its registry or a mirror."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from trainrig.tools.terraform import Terraform

PLATFORMS = ("linux_amd64", "linux_arm64", "darwin_arm64", "darwin_amd64")
_ROOT = 'terraform {{\n  required_providers {{\n    it = {{ source = "{source}", version = "{version}" }}\n  }}\n}}\n'


def of(address: str, version: str, *, mirror: Path | None = None) -> tuple[str, ...]:
    """`h1:` and `zh:` of all platforms that trainrig runs on; of this one alone when a `mirror` has no other.

    Raises:
        TerraformFailed: no network, or no such version.
    """
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "main.tf").write_text(_ROOT.format(source=address, version=version), encoding="utf-8")
        Terraform(root).lock_providers(PLATFORMS if mirror is None else PLATFORMS[:1], mirror=mirror)
        written = (root / ".terraform.lock.hcl").read_text(encoding="utf-8")
    return tuple(re.findall(r'"((?:h1|zh):[^"]+)"', written))
