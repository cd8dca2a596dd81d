"""What of ours is in a Google Cloud project, whatever Terraform's state says. Never a bucket.

Networks, subnetworks, firewalls, placement policies and service accounts take no labels: their descriptions, which only
our module writes, mark them, and hold the lease where no machine may be left to tell it. Ids are those of Terraform's
state; a machine's is the number that Google gave it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trainrig.clouds.base import Account, Resource
from trainrig.clouds.gcp import session
from trainrig.clouds.gcp.facts import FACTS
from trainrig.clouds.leftovers import HOURS_A_MONTH, RUN_ID_LABEL, claim, with_known_runs
from trainrig.errors import CommandFailed, UsageError
from trainrig.model.offer import Market

MARK = "rig tr-"  # in every description that our module writes
_UNTIL = re.compile(r", until (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$")  # in those of networks and service accounts
DELETE_SECONDS = 600  # a machine with eight GPUs takes minutes to end
IAM = "https://iam.googleapis.com/v1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    type: str
    client: str  # of compute_v1
    collection: str  # in URLs
    argument: str  # what a delete request calls it
    call: str = "aggregated_list"  # "list": it is global


KINDS = (
    Kind(type="instance", client="Instances", collection="instances", argument="instance"),
    Kind(type="disk", client="Disks", collection="disks", argument="disk"),
    Kind(type="address", client="Addresses", collection="addresses", argument="address"),
    Kind(
        type="resource_policy",
        client="ResourcePolicies",
        collection="resourcePolicies",
        argument="resource_policy",
    ),
    Kind(type="firewall", client="Firewalls", collection="firewalls", argument="firewall", call="list"),
    Kind(type="subnetwork", client="Subnetworks", collection="subnetworks", argument="subnetwork"),
    Kind(type="network", client="Networks", collection="networks", argument="network", call="list"),
)


def find(account: Account, run_id: str | None = None) -> Iterator[Resource]:
    found = [
        resource
        for kind in KINDS
        for scope, item in session.pages(account, kind.client, kind.call)
        if (resource := _resource(account, kind, scope, item, run_id))
    ]
    yield from with_known_runs([*found, *_service_accounts(account, run_id)])


def _resource(account: Account, kind: Kind, scope: str, item: Any, run_id: str | None) -> Resource | None:
    place = scope.partition("/")[2]
    region = place.rpartition("-")[0] if scope.startswith("zones/") else place or "global"
    if account.regions and region not in account.regions and region != "global":
        return None
    labels = dict(item.labels) if "labels" in type(item).meta.fields else {}
    found = claim(labels, item.name, marked=MARK in item.description, run_id=run_id)
    if found is None:
        return None
    machine = kind.type == "instance"
    spot = machine and item.scheduling.provisioning_model == "SPOT"
    price = None
    if kind.type == "disk":
        price = item.size_gb * FACTS.disk_gb_month_usd / HOURS_A_MONTH
    elif kind.type == "address":
        price = FACTS.address_hour_usd
    return Resource(
        cloud="gcp",
        region=region,
        type=kind.type,
        id=str(item.id) if machine else _path(session.project(account), scope, kind.collection, item.name),
        name=item.name,
        run_id=found.run_id,
        expires_at=found.expires_at or _end(item.description),
        price_hour_usd=price,
        market=(Market.SPOT if spot else Market.ON_DEMAND) if machine else None,
        instance_type=item.machine_type.rpartition("/")[2] if machine else None,
        image=_image(item.source_image) if kind.type == "disk" else None,
        labelled=RUN_ID_LABEL in labels,
        disks=_disks(account, scope, item) if machine else (),
    )


def _disks(account: Account, scope: str, instance: Any) -> tuple[str, ...]:
    """Local SSDs are no resources of their own: they have no source."""
    names = [disk.source.rpartition("/")[2] for disk in instance.disks if disk.source]
    return tuple(_path(session.project(account), scope, "disks", name) for name in names)


def _image(url: str) -> str | None:
    """`projects/P/global/images/NAME`, however long the URL; a disk that was made from nothing has none."""
    return f"projects/{url.partition('/projects/')[2]}" if "/projects/" in url else url or None


def _end(description: str) -> datetime | None:
    found = _UNTIL.search(description)
    return datetime.fromisoformat(found[1]) if found else None


def _path(project: str, scope: str, collection: str, name: str) -> str:
    return f"projects/{project}/{scope or 'global'}/{collection}/{name}"


def _service_accounts(account: Account, run_id: str | None) -> Iterator[Resource]:
    project, token = session.project(account), ""
    while True:
        page = session.rest(
            account, "GET", f"{IAM}/projects/{project}/serviceAccounts", query={"pageSize": "100", "pageToken": token}
        )
        for item in page.get("accounts", []):
            name = item["email"].partition("@")[0]
            found = claim({}, name, marked=MARK in item.get("description", ""), run_id=run_id)
            if found:
                yield Resource(
                    cloud="gcp",
                    region="global",
                    type="service_account",
                    id=item["name"],
                    name=name,
                    run_id=found.run_id,
                    expires_at=_end(item.get("description", "")),
                )
        token = page.get("nextPageToken", "")
        if not token:
            return


def delete(account: Account, resource: Resource) -> None:
    """Deletes one and waits until Google says that it is done."""
    if resource.type == "service_account":
        try:
            session.rest(account, "DELETE", f"{IAM}/{resource.id}")
        except CommandFailed as error:
            if error.details.get("code") != 404:
                raise
        return
    kind = next((k for k in KINDS if k.type == resource.type), None)
    if kind is None:
        raise UsageError(f"gcp has no resource of type {resource.type!r}")
    scope = _scope_of_instance(account, resource) if kind.type == "instance" else _scope_of(resource)
    if scope is None:
        return
    place, _, name = scope.partition("/")
    request = {"project": session.project(account), kind.argument: resource.name}
    if name:
        request[place.removesuffix("s")] = name
    try:
        with session.translated():
            operation = session.compute(account, kind.client).delete(request=request, timeout=session.TIMEOUT_SECONDS)
            operation.result(timeout=DELETE_SECONDS)
    except CommandFailed as error:
        if error.details.get("code") != 404:
            raise


def _scope_of(resource: Resource) -> str:
    """`zones/Z`, `regions/R` or `global`, from the path that is the id."""
    return "/".join(resource.id.split("/")[2:-2])


def _scope_of_instance(account: Account, resource: Resource) -> str | None:
    """The zone of the machine with this number; None: there is none. Another one of the same name is not it."""
    for scope, item in session.pages(account, "Instances", filter=f'name = "{resource.name}"'):
        if str(item.id) == resource.id:
            return scope
    return None
