from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from support.fake_gcp import PROJECT, FakeGcp
from support.gcp_rig import build
from support.rigs import identity
from trainrig.clouds.base import Account
from trainrig.clouds.gcp import inventory
from trainrig.errors import CommandFailed
from trainrig.model.offer import Market

RUN = "abcd2345"
ZONE = "zones/us-central1-a"


def test_a_whole_rig_is_found_and_deleted_in_order(cloud: FakeGcp, account: Account) -> None:
    build(cloud, identity())
    cloud.add("global", "networks", name="default")
    found = list(inventory.find(account, RUN))

    assert [r.type for r in found] == [
        "instance",
        "disk",
        "resource_policy",
        "firewall",
        "subnetwork",
        "network",
        "service_account",
    ]
    assert {r.run_id for r in found} == {RUN}
    # the lease of the run, also for what takes no labels
    assert {r.expires_at for r in found} == {datetime(2026, 3, 2, 12, tzinfo=UTC)}
    machine, disk = found[0], found[1]
    assert (machine.region, machine.market) == ("us-central1", Market.SPOT)
    assert machine.id.isdigit()
    assert machine.instance_type == "a2-highgpu-1g"
    assert disk.price_hour_usd == Decimal("0.05")
    assert disk.id == f"projects/{PROJECT}/{ZONE}/disks/{disk.name}"
    assert (machine.disks, machine.labelled, disk.labelled) == ((disk.id,), True, True)

    for resource in found:
        inventory.delete(account, resource)
    assert cloud.names() == {"networks/default"}
    for resource in found:  # absent is done
        inventory.delete(account, resource)


def test_only_the_run_that_is_asked_for(cloud: FakeGcp, account: Account) -> None:
    build(cloud, identity())
    build(cloud, identity(run_id="zzzz2222"))
    for resource in inventory.find(account, RUN):
        inventory.delete(account, resource)
    assert {r.run_id for r in inventory.find(account)} == {"zzzz2222"}


def test_a_disk_that_lost_its_labels_is_known_by_its_name_alone(cloud: FakeGcp, account: Account) -> None:
    cloud.add(ZONE, "disks", name=f"{identity().resource_prefix}-0", sizeGb="10")
    assert [(r.type, r.run_id, r.labelled) for r in inventory.find(account, RUN)] == [("disk", RUN, False)]


def test_a_network_without_machines_still_tells_its_lease(cloud: FakeGcp, account: Account) -> None:
    name = identity().resource_prefix
    until = f"Nodes of the rig {name}, until 2026-03-02T12:00:00Z"
    cloud.add("global", "networks", name=name, description=until)
    cloud.add("global", "firewalls", name=f"{name}-ssh4", description=f"SSH to the rig {name}")
    cloud.add_service_account(name, until)
    found = list(inventory.find(account))
    assert {r.type for r in found} == {"network", "firewall", "service_account"}
    assert {(r.run_id, r.expires_at) for r in found} == {(RUN, datetime(2026, 3, 2, 12, tzinfo=UTC))}


def test_names_alone_are_not_certain(cloud: FakeGcp, account: Account) -> None:
    cloud.add("global", "networks", name="tr-prod-database")
    cloud.add("global", "networks", name="prod")
    cloud.add_service_account("tr-prod-database")
    assert [(r.name, r.run_id) for r in inventory.find(account)] == [("tr-prod-database", None)] * 2


def test_only_the_regions_of_the_account_and_what_is_global(cloud: FakeGcp, account: Account) -> None:
    build(cloud, identity())
    found = inventory.find(replace(account, regions=("europe-west4",)), RUN)
    assert {r.region for r in found} == {"global"}


def test_what_holds_a_resource_is_said(cloud: FakeGcp, account: Account) -> None:
    build(cloud, identity())
    network = next(r for r in inventory.find(account, RUN) if r.type == "network")
    with pytest.raises(CommandFailed, match=r"is already being used by .*firewalls.*resourceInUseByAnotherResource"):
        inventory.delete(account, network)


def test_another_machine_of_the_same_name_is_left_alone(cloud: FakeGcp, account: Account) -> None:
    build(cloud, identity())
    machine = next(r for r in inventory.find(account, RUN) if r.type == "instance")
    inventory.delete(account, replace(machine, id="6999"))
    assert f"instances/{machine.name}" in cloud.names()
