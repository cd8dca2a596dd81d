"""What is not seen with real modules; tests/contract/test_rig_modules.py has every rule on every cloud."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.plans import resource
from trainrig.render.policy import Expected, check

EXPECTED = Expected(labels={"managed-by": "trainrig"}, lease_seconds=3600)
INGRESS = "module.rig.aws_vpc_security_group_ingress_rule.ssh[0]"
SSH = {"from_port": 22, "to_port": 22, "tags": EXPECTED.labels}


def broken(address: str, **values: Any) -> list[tuple[str, str]]:
    return [(f.code, f.detail) for f in check([resource(address, **values)], EXPECTED)[1]]


def test_without_values_nobody_can_tell() -> None:
    rules, found = check([replace(resource(INGRESS), values=None)], EXPECTED)
    assert {rule.holds for rule in rules} == {None}
    assert found == ()


@pytest.mark.parametrize("address", ["module.rig.nebius_compute_v1_instance.node[0]", "module.rig.terraform_data.x"])
def test_of_resources_that_no_rule_knows_nothing_is_said(address: str) -> None:
    assert check([resource(address)], EXPECTED) == ((), ())


@pytest.mark.parametrize(
    ("network", "codes"),
    [
        ("203.0.113.7/32", []),
        ("203.0.0.0/12", ["policy_ingress"]),
        ("0.0.0.0/0", ["policy_ingress"]),
        ("10.0.0.0/8", []),
    ],
)
def test_ways_in(network: str, codes: list[str]) -> None:
    assert [code for code, _ in broken(INGRESS, cidr_ipv4=network, **SSH)] == codes


def test_azures_word_for_everybody_is_the_internet() -> None:
    address = "module.rig.azurerm_network_security_rule.ssh[0]"
    found = broken(address, source_address_prefix="Internet", destination_port_range="8080")
    assert found == [
        ("policy_ingress", "it lets Internet in"),
        ("policy_ingress", "it lets Internet to the ports 8080"),
    ]


def test_what_is_broken_is_named() -> None:
    policy = '{"Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": ["arn:aws:s3:::a/b/*"]}}'
    address = "module.rig.aws_iam_role_policy.node[0]"
    assert broken(address, policy=policy) == [("policy_rights", "it allows s3:* on arn:aws:s3:::a/b/*")]
    assert broken(address, policy=policy.replace("Allow", "Deny")) == []
    assert broken("module.rig.aws_vpc.rig[0]", tags={}) == [("policy_labels", "it lacks the labels managed-by")]


@pytest.mark.parametrize(
    ("actions", "target", "fine"),
    [
        ('["ecr:GetAuthorizationToken"]', "*", True),
        ('["ecr:GetAuthorizationToken", "ecr:BatchGetImage"]', "*", False),
        ('["ecr:*"]', "arn:aws:ecr:us-east-1:123456789012:repository/a", False),
        ('["s3:PutObject"]', "arn:aws:s3:::results/finetune/*", True),
        ('["s3:PutObject"]', "arn:aws:s3:::results/*", False),
    ],
)
def test_a_right_on_aws_names_a_place_and_only_the_login_to_a_registry_has_none(
    actions: str, target: str, fine: bool
) -> None:
    policy = f'{{"Statement": [{{"Effect": "Allow", "Action": {actions}, "Resource": ["{target}"]}}]}}'
    assert (broken("module.rig.aws_iam_role_policy.node[0]", policy=policy) == []) is fine


@pytest.mark.parametrize(
    ("address", "role", "fine"),
    [
        ("google_artifact_registry_repository_iam_member.image[0]", "roles/artifactregistry.reader", True),
        ("google_artifact_registry_repository_iam_member.image[0]", "roles/artifactregistry.writer", False),
        ("google_artifact_registry_repository_iam_binding.image[0]", "roles/artifactregistry.reader", False),
        ("google_storage_bucket_iam_member.writes[0]", "roles/storage.objectUser", False),
    ],
)
def test_an_image_may_be_read_and_nothing_else_without_a_condition(address: str, role: str, fine: bool) -> None:
    assert (broken(f"module.rig.{address}", role=role) == []) is fine
