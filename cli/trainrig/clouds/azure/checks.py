"""`trainrig check` for Azure: who we are, what we may do, what is registered, how many GPUs we may hold."""

from __future__ import annotations

from collections.abc import Iterator

from trainrig.clouds import checking
from trainrig.clouds.azure import permissions as needed
from trainrig.clouds.azure.quota import quotas
from trainrig.clouds.azure.session import get, subscription
from trainrig.clouds.base import Account
from trainrig.model.offer import Market
from trainrig.model.readiness import Check

HOME_REGION = "eastus"
SIZES = (
    ("Standard_NC4as_T4_v3", "T4"),
    ("Standard_NC24ads_A100_v4", "A100-80GB-PCIe"),
    ("Standard_ND96isr_H100_v5", "H100"),
)


def checks(account: Account) -> Iterator[Check]:
    """Stops at the identity when there is none: the rest would say the same."""

    def identity() -> Check:
        found = get(account, "", api_version="2022-12-01")
        if found.get("state") != "Enabled":
            return Check(name="identity", status="fail", detail=f"the subscription is {found.get('state')}")
        return Check(
            name="identity", status="pass", detail=f"subscription {found['displayName']} ({subscription(account)})"
        )

    first = checking.asked("identity", identity)
    yield first
    if first.status == "pass":
        yield checking.asked("permissions", lambda: permissions(account))
        yield checking.asked("resource providers", lambda: registered(account))
        yield checking.asked("GPU quota", lambda: gpu_quota(account))


def permissions(account: Account) -> Check:
    found = get(account, "providers/Microsoft.Authorization/permissions", api_version="2022-04-01")
    return checking.permissions(
        needed.missing(found.get("value", [])),
        len(needed.PERMISSIONS),
        "assign the custom role of docs/clouds.md#azure",
    )


def registered(account: Account) -> Check:
    """azurerm registers nothing by itself since 5.0."""
    missing = [
        name
        for name in needed.NAMESPACES
        if get(account, f"providers/{name}", api_version="2021-04-01").get("registrationState") != "Registered"
    ]
    if missing:
        mend = "; ".join(f"az provider register --namespace {name}" for name in missing)
        return Check(
            name="resource providers", status="fail", detail=f"not registered: {', '.join(missing)}", mend=mend
        )
    return Check(name="resource providers", status="pass", detail=", ".join(needed.NAMESPACES))


def gpu_quota(account: Account) -> Check:
    probes = [
        checking.probe("azure", region, size, gpu, market)
        for region in account.regions or (HOME_REGION,)
        for size, gpu in SIZES
        for market in (Market.ON_DEMAND, Market.SPOT)
    ]
    found = [q for q in quotas(account, probes) if q.code != "cores"]
    return checking.gpu_quota(
        found, "ask for a GPU family at https://portal.azure.com/#view/Microsoft_Azure_Capacity/QuotaMenuBlade"
    )
