from __future__ import annotations

from typing import Any

import pytest

from support.loopback import Loopback, Reply
from trainrig.clouds.azure import checks as azure_checks
from trainrig.clouds.azure.permissions import PERMISSIONS, missing
from trainrig.clouds.base import Account
from trainrig.model.readiness import Check

BASE = r"/subscriptions/[\w-]+"


@pytest.fixture
def subscription(azure: Loopback) -> Loopback:
    azure.route("GET", BASE, {"displayName": "Training", "state": "Enabled"})
    usage = {"name": {"value": "StandardNCADSA100v4Family"}, "limit": 48, "currentValue": 0}
    azure.route("GET", f"{BASE}/providers/Microsoft.Compute/locations/eastus/usages", {"value": [usage]})
    return azure


def grant(azure: Loopback, *grants: dict[str, Any], unregistered: str = "") -> None:
    azure.route("GET", f"{BASE}/providers/Microsoft.Authorization/permissions", {"value": list(grants)})

    def state(request: Any) -> Any:
        return {"registrationState": "NotRegistered" if request.groups[0] == unregistered else "Registered"}

    azure.route("GET", f"{BASE}/providers/([\\w.]+)", state)


def by_name(account: Account) -> dict[str, Check]:
    return {c.name: c for c in azure_checks.checks(account)}


def test_everything_is_there(subscription: Loopback, account: Account) -> None:
    grant(subscription, {"actions": ["*"], "notActions": []})
    found = by_name(account)
    assert {c.status for c in found.values()} == {"pass"}
    assert found["GPU quota"].detail == "eastus StandardNCADSA100v4Family: 48 vcpus, 0 in use"


def test_a_contributor_may_not_assign_roles(subscription: Loopback, account: Account) -> None:
    contributor = {
        "actions": ["*"],
        "notActions": ["Microsoft.Authorization/*/Delete", "Microsoft.Authorization/*/Write"],
    }
    grant(subscription, contributor)
    assert by_name(account)["permissions"].detail == (
        "missing: Microsoft.Authorization/roleAssignments/delete, Microsoft.Authorization/roleAssignments/write"
    )


def test_an_unregistered_provider_has_its_command(subscription: Loopback, account: Account) -> None:
    grant(subscription, {"actions": ["*"], "notActions": []}, unregistered="Microsoft.DevTestLab")
    found = by_name(account)["resource providers"]
    assert (found.status, found.mend) == ("fail", "az provider register --namespace Microsoft.DevTestLab")


def test_an_unknown_subscription_stops_the_checks(azure: Loopback, account: Account) -> None:
    body = {"error": {"code": "SubscriptionNotFound", "message": "could not be found"}}
    azure.route("GET", BASE, Reply(status=404, body=body))
    (found,) = azure_checks.checks(account)
    assert found.status == "fail"
    assert "SubscriptionNotFound" in found.detail


def test_grants_add_up_and_each_bars_only_itself() -> None:
    assert missing([]) == list(PERMISSIONS)
    assert missing([{"actions": ["*/read"]}, {"actions": ["*"], "notActions": ["*/read"]}]) == []
    assert "Microsoft.Compute/disks/write" in missing([{"actions": ["Microsoft.Network/*", "*/read"]}])
