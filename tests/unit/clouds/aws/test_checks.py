from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
from moto.core.responses import ActionResult
from moto.iam.responses import IamResponse

from support.loopback import Loopback
from trainrig.clouds.aws import checks as aws_checks
from trainrig.clouds.aws import simulate
from trainrig.clouds.aws.permissions import CHANGE, IDENTITY, LOOK
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed, CredentialsMissing, PreflightFailed
from trainrig.model.readiness import Check


def allow(monkeypatch: pytest.MonkeyPatch, denied: Collection[str] = ()) -> None:
    """moto does not have it: every action is allowed but the denied ones, and rights on roles only below /trainrig/."""

    def answer(self: Any) -> ActionResult:
        names = self._get_param("ActionNames")
        (resource,) = self._get_param("ResourceArns")
        kind = "instance-profile" if names[0].endswith("InstanceProfile") else "role"
        if set(names) & set(IDENTITY):
            assert resource.startswith(f"arn:aws:iam::123456789012:{kind}/trainrig/")
        return ActionResult(
            {
                "EvaluationResults": [
                    {"EvalActionName": n, "EvalDecision": "implicitDeny" if n in denied else "allowed"} for n in names
                ]
            }
        )

    monkeypatch.setattr(IamResponse, "simulate_principal_policy", answer, raising=False)


@pytest.fixture
def quotas(loopback: Loopback) -> dict[str, float]:
    """By code; the others are 0."""
    values: dict[str, float] = {"L-DB2E81BA": 192.0}
    loopback.route("POST", "/", lambda request: {"Quota": {"Value": values.get(request.body["QuotaCode"], 0.0)}})
    return values


@pytest.fixture
def user(account: Account, monkeypatch: pytest.MonkeyPatch) -> Account:
    """An account whose credentials are a user's: moto's own caller is one that cannot be simulated."""
    monkeypatch.setattr(simulate, "principal", lambda _arn: "arn:aws:iam::123456789012:user/ada")
    return account


def by_name(account: Account) -> dict[str, Check]:
    return {c.name: c for c in aws_checks.checks(account)}


def test_everything_is_there(user: Account, quotas: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch)
    found = by_name(user)
    assert {c.status for c in found.values()} == {"pass"}
    assert "123456789012" in found["identity"].detail
    assert found["permissions"].detail == f"all {len((*LOOK, *CHANGE, *IDENTITY))} that a rig needs"
    assert found["GPU quota"].detail == "us-east-1 L-DB2E81BA: 192 vcpus, 0 in use"


def test_missing_permissions_are_named(
    user: Account, quotas: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(monkeypatch, denied={"ec2:RunInstances", "iam:PassRole"})
    found = by_name(user)["permissions"]
    assert (found.status, found.detail) == ("fail", "missing: ec2:RunInstances, iam:PassRole")
    assert "docs/clouds.md#aws" in found.mend


def test_no_gpu_quota_anywhere_says_how_to_ask(
    user: Account, quotas: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(monkeypatch)
    quotas.clear()
    found = by_name(user)["GPU quota"]
    assert (found.status, found.detail) == ("fail", "0 for every GPU family in us-east-1")
    assert found.mend.startswith("aws service-quotas request-service-quota-increase")


def test_credentials_of_another_account_are_refused(account: Account) -> None:
    (found,) = aws_checks.checks(replace(account, settings={"account_id": "999999999999"}))
    assert found.status == "fail"
    assert "of account 123456789012, the environment wants 999999999999" in found.detail


@pytest.mark.parametrize(
    "error", [CredentialsMissing("aws: none", hint="aws configure"), PreflightFailed("aws: no answer", hint="network")]
)
def test_without_an_identity_nothing_else_is_asked(
    account: Account, error: PreflightFailed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(aws_checks, "client", refuse)
    assert list(aws_checks.checks(account)) == [
        Check(name="identity", status="fail", detail=error.message, mend=error.hint)
    ]


def test_a_simulation_that_is_not_allowed_is_no_verdict(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise CommandFailed("aws: AccessDenied", details={"code": "AccessDenied"})

    monkeypatch.setattr(aws_checks, "denied", refuse)
    found = aws_checks.permissions(account, "arn:aws:iam::1:user/a")
    assert found.status == "skip"
    assert "iam:SimulatePrincipalPolicy" in found.detail


@pytest.mark.parametrize(
    ("arn", "expected"),
    [
        ("arn:aws:iam::1:user/dir/ada", "arn:aws:iam::1:user/dir/ada"),
        ("arn:aws:sts::1:assumed-role/ci/session-9", "arn:aws:iam::1:role/ci"),
        ("arn:aws-us-gov:sts::1:assumed-role/ci/s", "arn:aws-us-gov:iam::1:role/ci"),
        ("arn:aws:iam::1:root", None),
        ("arn:aws:sts::1:federated-user/ada", None),
    ],
)
def test_whose_policies_count(arn: str, expected: str | None) -> None:
    assert simulate.principal(arn) == expected
