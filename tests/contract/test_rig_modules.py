"""Every rig of rig_cases through the real Terraform: valid against today's provider schemas, within policy, made,
stable, and gone. The clouds are stand-ins (tests/support/standin): this proves HCL and graph, not the clouds."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from support import plan_policy
from support.rig_cases import CASES, Case
from support.standin.cloud import FakeCloud
from support.standin.serve import serve
from support.terraform_root import render
from trainrig.model.node import Node
from trainrig.render.policy import Expected

pytestmark = pytest.mark.terraform
PROVIDER = {"aws": "aws", "gcp": "google", "azure": "azurerm"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Life:
    """What was seen of one rig from plan to destroy."""

    case: Case
    plan: Mapping[str, Any]
    nodes: list[Node]
    left: list[dict[str, Any]]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def life(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    case: Case = request.param
    folder = tmp_path_factory.mktemp("rig")
    cloud = FakeCloud(folder / "cloud")
    with serve(cloud.folder, [PROVIDER[case.cloud]]) as env:
        root = render(case, folder / "root", env)
        root.run("init", "-input=false")
        root.run("validate")
        plan = root.plan()
        root.run("apply", "-input=false", "tfplan")
        root.run("plan", "-input=false", "-detailed-exitcode")  # 2 would be: something changes at every apply
        nodes = [Node.from_output(n) for n in root.output("nodes")]
        root.run("destroy", "-auto-approve", "-input=false", "-refresh=false")
        yield Life(case=case, plan=plan, nodes=nodes, left=cloud.objects())


def test_it_is_made_stays_as_it_is_and_goes(life: Life) -> None:
    request = life.case.request
    assert [n.rank for n in life.nodes] == list(range(request.nodes))
    assert [n.name for n in life.nodes] == [f"{request.identity.resource_prefix}-{n.rank}" for n in life.nodes]
    private = request.existing_network.get("public_ip") == "false"
    assert all((n.public_ip is None) == private for n in life.nodes)
    assert life.left == []


def test_every_name_starts_with_the_rigs_id(life: Life) -> None:
    """Sweep finds what lost its labels by its name."""
    prefix = life.case.request.identity.resource_prefix
    inside_something_named = {"aws_iam_role_policy", "azurerm_subnet", "azurerm_network_security_rule"}
    for address, type_, values in plan_policy.resources(life.plan):
        if type_ not in inside_something_named and isinstance(values.get("name"), str):
            assert values["name"].startswith(prefix), address


def test_it_is_within_policy(life: Life) -> None:
    request = life.case.request
    expected = Expected(labels=request.identity.all_labels(), lease_seconds=request.lease_seconds)
    assert plan_policy.broken(life.plan, expected) == []
    assert plan_policy.secrets(life.plan) == []


def test_rights_end_at_the_runs_own_prefix(life: Life) -> None:
    """Whatever grants rights names the prefix, and another cloud's URL grants none."""
    grants = [
        values.get("policy")
        or f"{values.get('repository')} {values.get('role_definition_name')} {values.get('condition')}"
        for _, type_, values in plan_policy.resources(life.plan)
        if re.search("iam_role_policy|iam_member|role_assignment", type_)
    ]
    text = " ".join(grants)
    if life.case.request.checkpoint_prefix:
        assert "runs/abcd2345/" in text
        assert "resnet" in text
        assert "imagenet" in text
        image = {"aws": "repository/team/train", "gcp": "team ", "azure": "AcrPull"}[life.case.cloud]
        assert sum(image in grant for grant in grants) == 1
    else:
        assert grants == []
    assert "elsewhere" not in text


def test_placement_is_tight_only_where_there_is_more_than_one_node(life: Life) -> None:
    groups = {
        "aws_placement_group",
        "google_compute_resource_policy",
        "azurerm_proximity_placement_group",
        "azurerm_availability_set",
    }
    made = {type_ for _, type_, _ in plan_policy.resources(life.plan)} & groups
    request = life.case.request
    tight = request.nodes > 1 and request.reservation is None and "no-placement-group" not in life.case.name
    assert len(made) == int(tight)


def test_every_machine_is_a_resource_of_its_own(life: Life) -> None:
    """A fleet or a request gives machines that no state knows, no label reaches and no destroy ends."""
    machines = {"aws_instance", "google_compute_instance", "azurerm_linux_virtual_machine"}
    made = [type_ for _, type_, _ in plan_policy.resources(life.plan)]
    assert sum(type_ in machines for type_ in made) == life.case.request.nodes
    assert not [t for t in made if re.search(r"fleet|spot_instance_request|group_manager|scale_set", t)]


# Rules that pass everything prove nothing: each of these spoils a good plan in one place.
SPOILS: dict[str, tuple[str, Callable[[dict[str, Any]], None]]] = {
    "labels": ("aws_eip", lambda v: v.update(tags={})),
    "labels of a volume": ("aws_instance", lambda v: v.update(volume_tags=None)),
    "ingress": ("aws_vpc_security_group_ingress_rule", lambda v: v.update(cidr_ipv4="0.0.0.0/0")),
    "ingress port": ("aws_vpc_security_group_ingress_rule", lambda v: v.update(cidr_ipv4="8.8.8.8/32", to_port=99)),
    "encryption": ("aws_launch_template", lambda v: v["block_device_mappings"][0]["ebs"][0].update(encrypted="false")),
    "metadata": ("aws_launch_template", lambda v: v["metadata_options"][0].update(http_tokens="optional")),
    "lease": ("aws_launch_template", lambda v: v.update(instance_initiated_shutdown_behavior="stop")),
    "rights": (
        "aws_iam_role_policy",
        lambda v: v.update(policy='{"Statement": [{"Action": ["s3:*"], "Resource": ["*"]}]}'),
    ),
    "rights as one word": (
        "aws_iam_role_policy",
        lambda v: v.update(policy='{"Statement": {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}}'),
    ),
}


@pytest.fixture(scope="module")
def good_plan(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    case = next(c for c in CASES if c.name == "aws-on_demand-four-efa-cards")
    folder = tmp_path_factory.mktemp("plan")
    with serve(folder / "cloud", ["aws"]) as env:
        root = render(case, folder / "root", env)
        root.run("init", "-input=false")
        return root.plan()


@pytest.mark.parametrize("spoil", SPOILS)
def test_a_rule_sees_what_it_is_for(spoil: str, good_plan: Mapping[str, Any]) -> None:
    request = next(c.request for c in CASES if c.name == "aws-on_demand-four-efa-cards")
    expected = Expected(labels=request.identity.all_labels(), lease_seconds=request.lease_seconds)
    type_, change = SPOILS[spoil]
    plan = copy.deepcopy(good_plan)
    values = next(values for _, t, values in plan_policy.resources(plan) if t == type_)
    change(values)
    assert {found.split(":")[0] for found in plan_policy.broken(plan, expected)} == {
        f"policy_{spoil.partition(' ')[0]}"
    }


def test_a_private_key_in_a_plan_is_seen(good_plan: Mapping[str, Any]) -> None:
    plan = copy.deepcopy(good_plan)
    values = next(values for _, t, values in plan_policy.resources(plan) if t == "aws_launch_template")
    values.update(user_data="-----BEGIN OPENSSH PRIVATE KEY-----")
    assert plan_policy.secrets(plan) == ["PRIVATE KEY"]


def test_the_cases_are_of_every_cloud_market_and_size() -> None:
    seen = {(c.cloud, c.request.candidate.offer.market.value, c.request.nodes > 1) for c in CASES}
    clouds = ("aws", "gcp", "azure")
    assert {(cloud, market) for cloud, market, _ in seen} == {
        (cloud, market) for cloud in clouds for market in ("spot", "on_demand", "reserved")
    }
    assert {(cloud, many) for cloud, _, many in seen} == {(cloud, many) for cloud in clouds for many in (True, False)}
    assert len(CASES) >= 24
    assert all(re.fullmatch(r"[a-z0-9_-]+", c.name) for c in CASES)
