"""What a cloud must have, in plain words: a new folder under clouds/ makes these tests say what is still missing.

docs/adding-a-cloud.md is the way through them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import golden
from support.standin.cloud import FakeCloud
from support.standin.serve import NAMESPACE, PROVIDERS, serve
from trainrig import assets
from trainrig.clouds import registry
from trainrig.lifecycle import pins
from trainrig.lifecycle.render_rig import write
from trainrig.model.fault import FaultClass
from trainrig.render.root import declared
from trainrig.tools.terraform import Terraform

CLOUDS = registry.names()
by_cloud = pytest.mark.parametrize("cloud", CLOUDS)
# The local cloud's provider is our own and needs Docker; tests/functional looks at its labels in Docker itself.
RENTED = [cloud for cloud in CLOUDS if not registry.has(cloud, "provider")]


def cases(cloud: str) -> list[golden.Case]:
    return [case for name in golden.names() if (case := golden.case(name)).cloud == cloud]


@by_cloud
def test_facts_are_those_of_the_folder(cloud: str) -> None:
    facts = registry.facts(cloud)
    assert facts.name == cloud, f"clouds/{cloud}/facts.py calls itself {facts.name}"
    assert facts.markets, f"clouds/{cloud}/facts.py sells on no market"
    assert facts.apply_deadline_seconds <= 3600, "a stock-out must not hold a run up for more than an hour"


@by_cloud
def test_faults_tell_the_classes_that_decide_what_comes_next(cloud: str) -> None:
    known = {rule.fault for rule in registry.facts(cloud).faults}
    needed = {FaultClass.CAPACITY, FaultClass.QUOTA, FaultClass.AUTH, FaultClass.CONFIG}
    assert needed <= known, f"clouds/{cloud}/facts.py cannot recognise {sorted(needed - known)}"


@by_cloud
def test_a_root_template_calls_the_module(cloud: str) -> None:
    path = assets.path("templates") / "roots" / f"{cloud}.tf.j2"
    assert path.is_file(), f"templates/roots/{cloud}.tf.j2 is missing"
    text = path.read_text(encoding="utf-8")
    for needed in ('module "rig"', "{{ arguments }}", 'output "nodes"'):
        assert needed in text, f"templates/roots/{cloud}.tf.j2 has no {needed}"


@by_cloud
def test_the_provider_version_is_pinned(cloud: str) -> None:
    if registry.has(cloud, "provider"):
        return  # it comes with trainrig
    provider = registry.facts(cloud).terraform_provider
    assert provider in pins.shipped().providers, f"clouds/{cloud}/pins.yaml pins no version of {provider}"


@by_cloud
def test_every_root_variable_of_the_template_has_a_value_or_a_default(cloud: str) -> None:
    """The module's own are checked by its rendering; a template may add what a provider block needs."""
    text = (assets.path("templates") / "roots" / f"{cloud}.tf.j2").read_text(encoding="utf-8")
    for name in declared(text):
        block = text[text.index(f'variable "{name}"') :].partition("\n}")[0]
        assert re.search(r"^  default +=", block, re.MULTILINE), f"variable {name} of the {cloud} root has no default"


@by_cloud
def test_golden_cases_show_its_markets_and_more_than_one_node(cloud: str) -> None:
    own = cases(cloud)
    assert own, f"tests/golden/cases has no {cloud}-*.yaml"
    assert {offer.market for case in own for offer in case.offers} >= {"spot", "on_demand"}, f"{cloud}: spot, on demand"
    assert any("num_nodes:" in case.job for case in own), f"{cloud}: no golden case has more than one node"


@pytest.mark.terraform
@pytest.mark.parametrize("cloud", RENTED)
def test_module_labels_every_resource(cloud: str, tmp_path: Path) -> None:
    address = registry.facts(cloud).terraform_provider
    namespace, _, provider = address.partition("/")
    assert provider in PROVIDERS, f"tests/support/standin knows no schemas of {address}"
    assert NAMESPACE.get(provider, "hashicorp") == namespace
    case = next(case for case in cases(cloud) if "num_nodes:" in case.job)
    files = golden.render(case)
    files.pop("backend.tf.json", None)
    write(files, tmp_path / "root")
    fake = FakeCloud(tmp_path / "cloud")
    with serve(fake.folder, [provider]) as env:
        terraform = Terraform(tmp_path / "root", env=env)
        terraform.init().check()
        terraform.apply(None).check()
    wanted = {"managed-by": "trainrig", "trainrig-run-id": "goldenab"}
    bare = []
    for thing in fake.objects():
        # Google's `tags` are for firewalls; its labels are called so.
        where = next((name for name in ("labels", "tags") if name in thing["state"]), None)
        if where and not wanted.items() <= (thing["state"][where] or {}).items():
            bare.append(f"{thing['type']} {thing['id']}")
    assert bare == [], f"terraform/modules/{cloud} leaves these without the rig's labels: sweep cannot find them"
