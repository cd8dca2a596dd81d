"""Whatever people write into a job file, Terraform gets as data: nothing is interpolated, nothing is lost."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import rigs
from trainrig.lifecycle.render_rig import write
from trainrig.model.environment import StateBackend
from trainrig.render import tfvars
from trainrig.render.root import render_root
from trainrig.tools.terraform import Terraform

pytestmark = pytest.mark.terraform

VARIABLES = "".join(
    f'variable "{name}" {{\n  type = any\n}}\n\n' for name in (*tfvars.common(rigs.request()), "account", "cloud_init")
)
TEMPLATE = 'output "all" {\n  value = { rig = var.rig, account = var.account, cloud_init = var.cloud_init }\n}\n'
NASTY = [
    "\"quotes\" and 'others'",
    '${file("/etc/passwd")}',
    "$${escaped} %%{too}",
    "%{ if true }yes%{ endif }",
    "line\nfeed\r\nand\ttab \\n \\",
    "\u2028\u2029\ufeff\u202e 日本語 🚀 e\u0301",
    "<<EOT\nhere\nEOT\n",
    "{{ jinja }} {% raw %}",
    "null",
    "x" * 10_000,
]
TEXT = st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), max_size=300))


def rendered(texts: list[str]) -> dict[str, str]:
    request = rigs.request(identity=rigs.identity(name=texts[0], owner=texts[-1], labels=dict.fromkeys(texts, "v")))
    own: dict[str, Any] = {"account": {text: text for text in texts}, "cloud_init": texts[0]}
    declared = (*tfvars.common(request), *own)
    return render_root(
        cloud="aws",
        template=TEMPLATE,
        module_files={"variables.tf": VARIABLES},
        tfvars=tfvars.tfvars(request, own, declared),
        backend=StateBackend(),
        state_key="x",
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    write(rendered(["a"]), root)
    Terraform(root).init().check()
    return root


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(TEXT, min_size=1, max_size=12))
def test_text_comes_back_from_terraform_as_it_was_written(folder: Path, texts: list[str]) -> None:
    check(folder, texts)


def test_known_nasty_text_comes_back_too(folder: Path) -> None:
    check(folder, NASTY)


def check(folder: Path, texts: list[str]) -> None:
    files = rendered(texts)
    plain = rendered(["a"])
    assert {p for p in files if files[p] != plain[p]} <= {"terraform.tfvars.json"}
    write(files, folder)
    back = Terraform(folder).apply(None).check().outputs["all"]
    written = json.loads(files["terraform.tfvars.json"])
    assert back["rig"] == written["rig"]
    assert back["account"] == written["account"]
    assert back["rig"]["name"] == unicodedata.normalize("NFC", texts[0])
    assert back["cloud_init"] == unicodedata.normalize("NFC", texts[0])
