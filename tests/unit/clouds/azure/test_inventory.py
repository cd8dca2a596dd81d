from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from support.fake_arm import FakeArm
from support.loopback import Loopback
from support.rigs import identity
from trainrig.clouds.azure import inventory
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed
from trainrig.model.offer import Market

RUN = "abcd2345"
NAME = identity().resource_prefix
MACHINE = "Microsoft.Compute/virtualMachines"


def build(azure: Loopback, run_id: str = RUN) -> FakeArm:
    arm = FakeArm(azure)
    arm.add_rig(identity(run_id=run_id))
    arm.add(identity(run_id=run_id).resource_prefix, "Microsoft.Compute/virtualMachines/extensions", "agent")
    arm.add_group("production")
    return arm


def test_a_whole_rig_is_found_and_deleted(azure: Loopback, account: Account) -> None:
    arm = build(azure)
    found = list(inventory.find(account, RUN))

    assert [r.type for r in found] == ["virtual_machine", "public_ip", "virtual_network", "other", "resource_group"]
    assert {(r.run_id, r.expires_at) for r in found} == {(RUN, datetime(2026, 3, 2, 12, tzinfo=UTC))}
    machine = found[0]
    # as Terraform writes it, whatever the casing of the answer
    assert machine.id == f"/subscriptions/s/resourceGroups/{NAME}/providers/{MACHINE}/{NAME}-0"
    assert (machine.market, machine.instance_type) == (Market.SPOT, "Standard_NC24ads_A100_v4")

    for resource in found:  # the first takes the group with it; absent is done
        inventory.delete(account, resource)
    assert set(arm.groups) == {"production"}
    assert arm.ending == [NAME]
    assert list(inventory.find(account, RUN)) == []


def test_another_run_and_other_groups_are_left_alone(azure: Loopback, account: Account) -> None:
    build(azure)
    assert list(inventory.find(account, "zzzz2222")) == []


def test_a_group_that_lost_its_tags_is_known_by_its_name(azure: Loopback, account: Account) -> None:
    FakeArm(azure).add_group(NAME)
    assert [(r.type, r.run_id) for r in inventory.find(account)] == [("resource_group", None)]
    assert [(r.type, r.run_id) for r in inventory.find(account, RUN)] == [("resource_group", RUN)]


def test_only_the_regions_of_the_account(azure: Loopback, account: Account) -> None:
    build(azure)
    assert list(inventory.find(replace(account, regions=("westus3",)), RUN)) == []


def test_a_group_with_data_in_it_is_never_deleted(azure: Loopback, account: Account) -> None:
    arm = build(azure)
    arm.add(NAME, "Microsoft.Storage/storageAccounts", "checkpoints")
    group = next(r for r in inventory.find(account, RUN) if r.type == "resource_group")
    with pytest.raises(CommandFailed, match="storage account checkpoints"):
        inventory.delete(account, group)
    assert NAME in arm.groups
