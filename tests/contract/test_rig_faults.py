"""What a rig's root does when its cloud misbehaves, and what may change while its nodes live. Terraform is real, the
cloud is a stand-in with injected faults."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.rig_cases import CASES
from support.standin import messages, objects
from support.standin.cloud import FakeCloud, Fault
from support.standin.serve import serve
from support.terraform_root import Root, render
from trainrig.tools import terraform_program

pytestmark = pytest.mark.terraform
NODE = {
    "aws": "aws_instance",
    "gcp": "google_compute_instance",
    "azure": "azurerm_linux_virtual_machine",
}
TWO_NODES = {
    "aws": "aws-spot-two-efa-32-cards",
    "gcp": "gcp-spot-two-compact",
    "azure": "azure-spot-two-close",
}
every_cloud = pytest.mark.parametrize("cloud", list(NODE))


@contextmanager
def rig(tmp_path: Path, cloud: str) -> Iterator[tuple[Root, FakeCloud]]:
    """A root of two nodes, initialised, and the cloud that it will be made in."""
    fake = FakeCloud(tmp_path / "cloud")
    with serve(fake.folder) as env:
        root = render(next(c for c in CASES if c.name == TWO_NODES[cloud]), tmp_path / "root", env)
        root.run("init", "-input=false")
        yield root, fake


def apply(root: Root, *, code: int = 0) -> str:
    return root.run("apply", "-auto-approve", "-input=false", "-json", code=code)


def actions(plan: dict[str, Any]) -> dict[str, list[str]]:
    """Address -> what the plan does, for all that it touches."""
    changes = {c["address"]: c["change"]["actions"] for c in plan["resource_changes"]}
    return {address: done for address, done in changes.items() if done != ["no-op"]}


@every_cloud
def test_a_stock_out_on_one_node_leaves_the_rest_in_state(cloud: str, tmp_path: Path) -> None:
    with rig(tmp_path, cloud) as (root, fake):
        provider = NODE[cloud].partition("_")[0]
        fake.inject(Fault(call="create", type=NODE[cloud], nth=2, error=messages.STOCKOUT[provider]))
        events = [json.loads(line) for line in apply(root, code=1).splitlines()]
        (failed,) = (e["diagnostic"] for e in events if e["type"] == "diagnostic" and e["@level"] == "error")
        assert failed["address"].startswith(f"module.rig.{NODE[cloud]}.node[")
        assert len(fake.objects(NODE[cloud])) == 1

        assert list(actions(root.plan()).values()).count(["create"]) >= 1
        apply(root)
        assert len(fake.objects(NODE[cloud])) == 2


@every_cloud
def test_a_preempted_node_is_the_only_thing_to_make_again(cloud: str, tmp_path: Path) -> None:
    with rig(tmp_path, cloud) as (root, fake):
        apply(root)
        fake.remove(NODE[cloud], fake.objects(NODE[cloud])[0]["id"])
        touched = actions(root.plan())
        assert touched.pop(next(a for a in touched if NODE[cloud] in a)) == ["create"]
        # What hangs on that one node may follow it; the other node stays.
        assert not any(NODE[cloud] in address for address in touched)
        assert not any("delete" in done and "shutdown_schedule" not in a for a, done in touched.items())


def test_a_half_created_node_is_made_anew(tmp_path: Path) -> None:
    with rig(tmp_path, "aws") as (root, fake):
        fake.inject(Fault(call="create", type="aws_instance", error="waiting for state running", leaves="tainted"))
        apply(root, code=1)
        touched = [done for address, done in actions(root.plan()).items() if "aws_instance" in address]
        assert touched == [["delete", "create"]]


def destroy_with_the_group(root: Root, fake: FakeCloud) -> None:
    """Terraform alone cannot: the machine holds its interface. Deleting the group, as sweep does, ends all of it."""
    assert "InUse" in root.attempt("destroy", "-auto-approve", "-input=false").stderr
    (group,) = fake.objects("azurerm_resource_group")
    objects.delete(group["type"], group["state"], fake)
    root.run("destroy", "-auto-approve", "-input=false")
    assert fake.objects() == []


def test_what_azure_left_outside_the_state_goes_with_the_group(tmp_path: Path) -> None:
    """terraform-provider-azurerm#753, #7516: allocation fails, and the machine is there but not in state."""
    with rig(tmp_path, "azure") as (root, fake):
        failed = Fault(call="create", type=NODE["azure"], error=messages.STOCKOUT["azurerm"], leaves="orphan")
        fake.inject(failed)
        apply(root, code=1)
        assert len(fake.objects(NODE["azure"])) == 2
        assert sum(NODE["azure"] in address for address in root.run("state", "list").splitlines()) == 1
        destroy_with_the_group(root, fake)


def test_an_interrupt_that_azure_drops_leaves_nothing_after_a_destroy(tmp_path: Path) -> None:
    """terraform-provider-azurerm#32230: Ctrl-C during a create orphans the machine."""
    with rig(tmp_path, "azure") as (root, fake):
        fake.inject(Fault(call="create", type=NODE["azure"], times=0, seconds=60, rude=True))
        argv = [*terraform_program.find().argv, "apply", "-auto-approve", "-input=false"]
        running = subprocess.Popen(argv, cwd=root.folder, env=root.env, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(fake.objects(NODE["azure"])) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=30) != 0
        fake.inject()
        assert len(fake.objects(NODE["azure"])) == 2
        assert NODE["azure"] not in root.run("state", "list")
        destroy_with_the_group(root, fake)


def test_a_delete_that_fails_is_finished_by_the_next_destroy(tmp_path: Path) -> None:
    with rig(tmp_path, "aws") as (root, fake):
        apply(root)
        fake.inject(Fault(call="delete", type="aws_vpc", error=messages.DEPENDENCY["aws"]))
        root.run("destroy", "-auto-approve", "-input=false", code=1)
        assert [o["type"] for o in fake.objects()] == ["aws_vpc"]
        root.run("destroy", "-auto-approve", "-input=false")
        assert fake.objects() == []


def _extend(values: dict[str, Any]) -> None:
    values["rig"]["labels"]["trainrig-expires"] = "1772539200"
    values["rig"]["expires_at"] = "2026-03-03T12:00:00Z"
    values["cloud_init"] = values["cloud_init"].replace("2026-03-02", "2026-03-03")
    values["lease_seconds"] += 86400


def _let_another_caller_in(values: dict[str, Any]) -> None:
    values["ssh_ingress_cidrs"] = ["198.51.100.9/32"]


def _find_a_newer_image(values: dict[str, Any]) -> None:
    values["image"] = values["image"][:-1] + ("1" if values["image"][-1] != "1" else "2")


@every_cloud
@pytest.mark.parametrize("change", [_extend, _let_another_caller_in, _find_a_newer_image])
def test_no_such_change_replaces_a_node(cloud: str, change: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    """A moved lease, another caller, a newer image (terraform-aws-ec2-instance#325, provider-google#26148)."""
    with rig(tmp_path, cloud) as (root, _):
        apply(root)
        edit(root, change)
        touched = actions(root.plan())
        deleted = [address for address, done in touched.items() if "delete" in done]
        assert not [address for address in deleted if change is _extend or f".{NODE[cloud]}." in address]


@every_cloud
def test_another_market_replaces_every_node(cloud: str, tmp_path: Path) -> None:
    """terraform-provider-aws#38141: dropping the market options alone shows no change."""
    with rig(tmp_path, cloud) as (root, _):
        apply(root)
        edit(root, lambda values: values.update(market="on_demand"))
        touched = [done for address, done in actions(root.plan()).items() if f".{NODE[cloud]}." in address]
        assert len(touched) == 2
        assert all("delete" in done and "create" in done for done in touched)


def test_a_provider_that_makes_another_kind_of_machine_fails_the_rig(tmp_path: Path) -> None:
    """terraform-provider-google#24172: FLEX_START became STANDARD without a word."""
    with rig(tmp_path, "gcp") as (root, fake):
        standard = {"scheduling": {"provisioning_model": "STANDARD"}}
        fake.inject(Fault(call="create", type=NODE["gcp"], nth=2, makes=standard))
        assert "The provider did not make SPOT nodes" in apply(root, code=1)


def edit(root: Root, change: Callable[[dict[str, Any]], None]) -> None:
    path = root.folder / "terraform.tfvars.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    change(values)
    path.write_text(json.dumps(values), encoding="utf-8")
