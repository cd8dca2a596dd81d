"""The policies that docs/clouds.md tells people to grant are what `trainrig check` asks for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from trainrig.clouds import registry
from trainrig.clouds.aws import permissions as aws
from trainrig.clouds.aws.quota import CODES
from trainrig.clouds.azure import permissions as azure
from trainrig.clouds.gcp import permissions as gcp

PAGE = (Path(__file__).parents[2] / "docs" / "clouds.md").read_text(encoding="utf-8")


ROOT = Path(__file__).parents[2]


def test_what_a_known_fault_is_answered_by_is_there() -> None:
    """A table of answers is worth what its files are worth: a moved one must not leave a row that nobody can check."""
    text = (ROOT / "docs" / "provider-faults.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.(?:py|tf|json|tftest\.hcl))`", text))
    assert len(named) > 20
    homes = [ROOT / "tests", ROOT / "terraform" / "modules", ROOT / "cli" / "trainrig"]
    assert [name for name in sorted(named) if not any((home / name).is_file() for home in homes)] == []


@pytest.fixture(scope="module")
def policies() -> list[dict[str, Any]]:
    """AWS, Google Cloud, Azure, in the page's order."""
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


def test_aws_policy(policies: list[dict[str, Any]]) -> None:
    statements = {s["Sid"]: s for s in policies[0]["Statement"]}
    assert {sid: tuple(s["Action"]) for sid, s in statements.items()} == {
        "Look": aws.LOOK,
        "Change": aws.CHANGE,
        "NodeIdentity": aws.IDENTITY,
    }
    # whoever may pass any role may become any role
    assert statements["NodeIdentity"]["Resource"] == [
        "arn:aws:iam::*:role/trainrig/*",
        "arn:aws:iam::*:instance-profile/trainrig/*",
    ]


def test_google_role(policies: list[dict[str, Any]]) -> None:
    assert tuple(policies[1]["includedPermissions"]) == gcp.PERMISSIONS


def test_azure_role(policies: list[dict[str, Any]]) -> None:
    assert tuple(policies[2]["Actions"]) == azure.PERMISSIONS


def test_azure_namespaces_are_registered_as_the_check_wants() -> None:
    assert tuple(re.findall(r"az provider register --namespace (\S+)", PAGE)) == azure.NAMESPACES


@pytest.mark.parametrize("names", [(*aws.LOOK, *aws.CHANGE, *aws.IDENTITY), gcp.PERMISSIONS, azure.PERMISSIONS])
def test_no_wildcards_and_nothing_twice(names: tuple[str, ...]) -> None:
    assert not [n for n in names if "*" in n]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("family", ["g", "p", "p5"])
def test_quota_codes_are_those_of_the_code(family: str) -> None:
    assert f"| {CODES[family][0]} | {CODES[family][1]} |" in PAGE


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_facts_of_the_table(cloud: str) -> None:
    facts = registry.facts(cloud)
    row = next(line for line in PAGE.splitlines() if f"trainrig[{facts.python_extra}]" in line)
    assert f"{facts.preemption_notice_seconds} s" in row
