from __future__ import annotations

from typing import Any

import pytest

from support.fake_gcp import PROJECT, FakeGcp, error
from support.loopback import Request
from trainrig.clouds.base import Account
from trainrig.clouds.gcp import checks as gcp_checks
from trainrig.clouds.gcp.permissions import PERMISSIONS
from trainrig.model.readiness import Check

BASE = f"/compute/v1/projects/{PROJECT}"


@pytest.fixture
def project(cloud: FakeGcp) -> FakeGcp:
    server = cloud.server
    server.route("GET", f"/v3/projects/{PROJECT}", {"projectId": PROJECT, "state": "ACTIVE"})
    server.route(
        "GET", f"{BASE}/regions/us-central1", {"quotas": [{"metric": "NVIDIA_L4_GPUS", "limit": 8, "usage": 1}]}
    )
    server.route("GET", BASE, {"quotas": [{"metric": "GPUS_ALL_REGIONS", "limit": 8, "usage": 1}]})
    server.route("GET", "/v1/projects/proj-1/locations/.*", {})
    return cloud


def allow(project: FakeGcp, *missing: str) -> None:
    def answer(request: Request) -> Any:
        return {"permissions": [p for p in request.body["permissions"] if p not in missing]}

    project.server.route("POST", f"/v3/projects/{PROJECT}:testIamPermissions", answer)


def by_name(account: Account) -> dict[str, Check]:
    return {c.name: c for c in gcp_checks.checks(account)}


def test_everything_is_there(project: FakeGcp, account: Account) -> None:
    allow(project)
    found = by_name(account)
    assert {c.status for c in found.values()} == {"pass"}
    assert found["permissions"].detail == f"all {len(PERMISSIONS)} that a rig needs"
    assert "us-central1 NVIDIA_L4_GPUS: 8 gpus, 1 in use" in found["GPU quota"].detail


def test_missing_permissions_are_named(project: FakeGcp, account: Account) -> None:
    allow(project, "compute.instances.create")
    assert by_name(account)["permissions"].detail == "missing: compute.instances.create"


def test_a_refusal_is_a_failed_check_and_the_next_is_still_asked(project: FakeGcp, account: Account) -> None:
    project.server.route(
        "POST", f"/v3/projects/{PROJECT}:testIamPermissions", error(403, "accessNotConfigured", "API is disabled")
    )
    found = by_name(account)
    assert (found["permissions"].status, found["GPU quota"].status) == ("fail", "pass")
    assert "API is disabled" in found["permissions"].detail


def test_a_project_that_is_being_deleted(cloud: FakeGcp, account: Account) -> None:
    cloud.server.route("GET", f"/v3/projects/{PROJECT}", {"projectId": PROJECT, "state": "DELETE_REQUESTED"})
    assert [(c.name, c.status) for c in gcp_checks.checks(account)] == [("identity", "fail")]
