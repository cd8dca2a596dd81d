"""What of ours is in an Azure subscription, whatever Terraform's state says.

A rig is a resource group, so deleting one thing of it deletes the group: machines, disks, addresses, networks and
identities go at once and in Azure's own order. A group with a storage account in it is never deleted: that is data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from azure.core.exceptions import ResourceNotFoundError

from trainrig.clouds.azure.facts import FACTS
from trainrig.clouds.azure.session import compute, resources, translated
from trainrig.clouds.base import Account, Resource
from trainrig.clouds.leftovers import RUN_ID_LABEL, Claim, claim, with_known_runs
from trainrig.errors import CommandFailed
from trainrig.model.offer import Market

DELETE_SECONDS = 1200
MACHINE = "microsoft.compute/virtualmachines"
TYPES = {
    MACHINE: "virtual_machine",
    "microsoft.compute/disks": "disk",
    "microsoft.compute/availabilitysets": "availability_set",
    "microsoft.compute/proximityplacementgroups": "proximity_placement_group",
    "microsoft.devtestlab/schedules": "shutdown_schedule",
    "microsoft.network/networkinterfaces": "network_interface",
    "microsoft.network/publicipaddresses": "public_ip",
    "microsoft.network/networksecuritygroups": "network_security_group",
    "microsoft.network/virtualnetworks": "virtual_network",
    "microsoft.managedidentity/userassignedidentities": "identity",
}
GROUP = "resource_group"
ORDER = [*TYPES.values(), "other", GROUP]
DATA = "microsoft.storage/storageaccounts"


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    name: str
    location: str
    id: str
    claim: Claim


def find(account: Account, run_id: str | None = None) -> Iterator[Resource]:
    """Groups of ours and everything inside, machines first."""
    with translated():
        client = resources(account)
        groups = [g for item in client.resource_groups.list() if (g := _group(account, item, run_id))]
        found = [r for group in groups for r in _inside(account, client, group)]
    found += [_resource(group, GROUP, group.id, group.name, group.claim) for group in groups]
    yield from with_known_runs(sorted(found, key=lambda r: ORDER.index(r.type)))


def _group(account: Account, item: Any, run_id: str | None) -> Group | None:
    if account.regions and item.location not in account.regions:
        return None
    found = claim(item.tags or {}, item.name, run_id=run_id)
    return Group(name=item.name, location=item.location, id=item.id, claim=found) if found else None


def _inside(account: Account, client: Any, group: Group) -> Iterator[Resource]:
    try:
        items = list(client.resources.list_by_resource_group(group.name))
    except ResourceNotFoundError:
        return  # it went while we looked
    machines = {vm.name.lower(): vm for vm in _machines(account, group)} if any(_is(i, MACHINE) for i in items) else {}
    for item in items:
        own = claim(item.tags or {}, item.name) or group.claim
        kind = TYPES.get(item.type.lower(), "other")
        # The casing of ids differs from call to call; Terraform's is that of the group's own name.
        ident = f"{group.id}/providers/{item.type}/{item.name}"
        vm = machines.get(item.name.lower()) if _is(item, MACHINE) else None
        found = _resource(group, kind, ident, item.name, own, vm)
        yield replace(found, labelled=RUN_ID_LABEL in (item.tags or {}))


def _machines(account: Account, group: Group) -> list[Any]:
    return list(compute(account).virtual_machines.list(group.name))


def _is(item: Any, kind: str) -> bool:
    return bool(item.type.lower() == kind)


def _resource(group: Group, kind: str, ident: str, name: str, own: Claim, vm: Any = None) -> Resource:
    return Resource(
        cloud="azure",
        region=group.location,
        type=kind,
        id=ident,
        name=name,
        run_id=group.claim.run_id or own.run_id,
        expires_at=own.expires_at or group.claim.expires_at,
        price_hour_usd=FACTS.address_hour_usd if kind == "public_ip" else None,
        market=None if vm is None else Market.SPOT if vm.priority == "Spot" else Market.ON_DEMAND,
        instance_type=None if vm is None else vm.hardware_profile.vm_size,
        image=None if vm is None else _image(vm.storage_profile),
    )


def _image(profile: Any) -> str | None:
    """`PUBLISHER:OFFER:SKU:VERSION`, where the marketplace's image is told."""
    found = profile.image_reference if profile else None
    parts = (found.publisher, found.offer, found.sku, found.exact_version or found.version) if found else ()
    return ":".join(parts) if parts and all(parts) else None


def delete(account: Account, resource: Resource) -> None:
    """Deletes the group of a resource, and waits until Azure says that it is done.

    Raises:
        CommandFailed: Azure refuses, or the group holds a storage account.
    """
    name = resource.id.split("/")[4]
    try:
        with translated():
            client = resources(account)
            held = [i.name for i in client.resources.list_by_resource_group(name) if _is(i, DATA)]
            if held:
                raise CommandFailed(
                    f"azure: the group {name} holds the storage account {held[0]}, and trainrig deletes no data",
                    hint="move or delete it, then try again",
                )
            # Machines are not shut down first: what is on them is in the checkpoint store or lost.
            poller = client.resource_groups.begin_delete(name, force_deletion_types="Microsoft.Compute/virtualMachines")
            poller.result(timeout=DELETE_SECONDS)
            if not poller.done():
                raise CommandFailed(f"azure: the group {name} is still being deleted after {DELETE_SECONDS} s")
    except CommandFailed as error:
        if error.details.get("code") != "ResourceGroupNotFound":
            raise
