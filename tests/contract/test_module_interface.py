"""The rig modules are one module to their callers: same inputs, same output, same files, described and checked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from support import module_docs
from support.rig_cases import CASES
from support.standin.wheels import SOURCES
from support.terraform_root import Root, render
from trainrig import assets
from trainrig.model.node import Node
from trainrig.render.root import declared

ROOT = Path(__file__).parents[2]
MODULES = module_docs.rig_modules()
by_module = pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)

_TABLE = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \| ([a-z()]+) \|", re.MULTILINE)
MAY_BE_MISSING = {"reservation", "cloud_init"}


def shared_interface() -> dict[str, str]:
    """Input -> type, from the table of terraform/README.md."""
    text = (ROOT / "terraform" / "README.md").read_text(encoding="utf-8")
    return {name: type_ for names, type_ in _TABLE.findall(text) for name in re.findall(r"\w+", names)}


def test_the_table_is_read() -> None:
    interface = shared_interface()
    assert {"rig", "nodes", "zone", "market", "cloud_init", "existing_network"} <= set(interface)
    assert {m.name for m in MODULES} >= {"aws", "gcp", "azure", "local"}


@by_module
def test_module_has_every_shared_input(module: Path) -> None:
    inputs = {i.name: i for i in module_docs.inputs(module)}
    interface = shared_interface()
    assert set(interface) - set(inputs) <= MAY_BE_MISSING
    types = {name: i.type.split("({")[0] for name, i in inputs.items() if name in interface}
    assert types == {name: interface[name] for name in types}
    rig = re.findall(r"(\w+) = ", inputs["rig"].type)
    assert rig == ["name", "id", "owner", "expires_at", "labels"]


@by_module
def test_module_can_be_called_with_the_shared_inputs_alone(module: Path) -> None:
    own = [i for i in module_docs.inputs(module) if i.name not in shared_interface()]
    assert [i.name for i in own if i.default is None] == []


@by_module
def test_module_returns_nodes(module: Path) -> None:
    assert list(module_docs.outputs(module)) == ["nodes"]
    keys = re.findall(r"^ {6}(\w+) +=", (module / "outputs.tf").read_text(encoding="utf-8"), re.MULTILINE)
    assert keys == list(Node.__dataclass_fields__)


@by_module
def test_module_describes_types_and_checks_its_inputs(module: Path) -> None:
    inputs = module_docs.inputs(module)
    assert [i.name for i in inputs if not i.description or not i.type or i.type == "any"] == []
    checked = {i.name for i in inputs if i.validated}
    assert checked >= {"rig", "nodes", "market", "image", "ssh_public_key", "lease_seconds"}


@by_module
def test_module_has_files_by_concern_and_no_provider_block(module: Path) -> None:
    names = {path.name for path in module.glob("*.tf")}
    assert names >= {"main.tf", "variables.tf", "outputs.tf", "terraform.tf"}
    text = "".join(path.read_text(encoding="utf-8") for path in module.glob("*.tf"))
    assert not re.search(r'^provider "', text, re.MULTILINE)
    assert max(len(path.read_text().splitlines()) for path in module.glob("*.tf")) < 400


@by_module
def test_readme_has_the_modules_own_tables(module: Path) -> None:
    message = f"{module.name}/README.md is out of date; run: python tests/support/module_docs.py"
    assert (module / "README.md").read_text(encoding="utf-8") == module_docs.readme(module), message


@by_module
def test_root_template_calls_the_module_and_returns_its_nodes(module: Path) -> None:
    template = (ROOT / "templates" / "roots" / f"{module.name}.tf.j2").read_text(encoding="utf-8")
    assert "{{ arguments }}" in template
    assert "module.rig.nodes" in template
    # What the root declares itself is not the module's.
    assert not set(declared(template)) & {i.name for i in module_docs.inputs(module)}


@pytest.mark.parametrize(("cloud", "provider"), [("aws", "aws"), ("gcp", "google"), ("azure", "azurerm")])
def test_one_exact_provider_version_is_rendered_locked_and_tested(cloud: str, provider: str) -> None:
    template = (ROOT / "templates" / "roots" / f"{cloud}.tf.j2").read_text(encoding="utf-8")
    pins = yaml.safe_load(assets.data("pins.yaml").read_text(encoding="utf-8"))["providers"]
    rendered = re.findall(
        r'^ +version = "\{\{ provider_version \| default\("([0-9.]+)"\) \}\}"', template, re.MULTILINE
    )
    assert rendered == [pins[f"hashicorp/{provider}"]] == [SOURCES[provider].provider_version]


@pytest.mark.parametrize("path", sorted(module_docs.MODULES.glob("*/families.json")), ids=lambda path: path.parent.name)
def test_family_tables_are_used_and_say_where_they_are_from(path: Path) -> None:
    table = json.loads(path.read_text(encoding="utf-8"))
    assert table.pop("source")
    text = "".join(p.read_text(encoding="utf-8") for p in path.parent.glob("*.tf"))
    assert [name for name in table if f"local.families.{name}" not in text] == []


@pytest.mark.terraform
def test_terraform_would_format_it_the_same(tmp_path: Path) -> None:
    assert Root(ROOT / "terraform", {}).run("fmt", "-check", "-recursive", "-diff") == ""
    for case in {c.cloud: c for c in CASES}.values():
        assert render(case, tmp_path / case.cloud, {}).run("fmt", "-check", "-diff") == ""


def test_every_answered_report_is_named_where_the_answer_is() -> None:
    folder = ROOT / "terraform"
    table = (folder / "README.md").read_text(encoding="utf-8").partition("## Reports")[2]
    rows = re.findall(r"^\| (.*?#\d.*?) \|.*\| (\S+) \|$", table, re.MULTILINE)
    assert len(rows) > 20
    unnamed = [
        (report, where)
        for reports, where in rows
        for report in re.findall(r"#\d+", reports)
        if report not in (folder / where).read_text(encoding="utf-8")
    ]
    assert unnamed == []
