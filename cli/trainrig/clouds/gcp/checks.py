"""`trainrig check` for Google Cloud: who we are, what we may do, and how many GPUs the project may hold."""

from __future__ import annotations

from collections.abc import Iterator

from trainrig.clouds import checking
from trainrig.clouds.base import Account
from trainrig.clouds.gcp import session
from trainrig.clouds.gcp.permissions import PERMISSIONS
from trainrig.clouds.gcp.quota import quotas
from trainrig.model.offer import Market
from trainrig.model.readiness import Check

PROJECTS = "https://cloudresourcemanager.googleapis.com/v3/projects"
HOME_REGION = "us-central1"
FAMILIES = (("g2-standard-4", "L4"), ("a2-highgpu-1g", "A100"), ("a3-highgpu-8g", "H100"))


def checks(account: Account) -> Iterator[Check]:
    """Stops at the identity when there is none: the rest would say the same."""

    def identity() -> Check:
        found = session.rest(account, "GET", f"{PROJECTS}/{session.project(account)}")
        if found.get("state") != "ACTIVE":
            return Check(
                name="identity", status="fail", detail=f"project {found.get('projectId')} is {found.get('state')}"
            )
        return Check(name="identity", status="pass", detail=f"project {found['projectId']}")

    first = checking.asked("identity", identity)
    yield first
    if first.status == "pass":
        yield checking.asked("permissions", lambda: permissions(account))
        yield checking.asked("GPU quota", lambda: gpu_quota(account))


def permissions(account: Account) -> Check:
    project = session.project(account)
    found = session.rest(
        account, "POST", f"{PROJECTS}/{project}:testIamPermissions", body={"permissions": list(PERMISSIONS)}
    )
    missing = sorted(set(PERMISSIONS) - set(found.get("permissions", [])))
    return checking.permissions(missing, len(PERMISSIONS), "grant the custom role of docs/clouds.md#google-cloud")


def gpu_quota(account: Account) -> Check:
    probes = [
        checking.probe("gcp", region, machine_type, gpu, market)
        for region in account.regions or (HOME_REGION,)
        for machine_type, gpu in FAMILIES
        for market in (Market.ON_DEMAND, Market.SPOT)
    ]
    url = f"https://console.cloud.google.com/iam-admin/quotas?project={session.project(account)}"
    return checking.gpu_quota(list(quotas(account, probes)), f"ask for GPUS_ALL_REGIONS and a GPU family at {url}")
