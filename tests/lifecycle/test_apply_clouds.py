"""Failover with the real modules of the three clouds. Terraform and the schemas are real, the clouds are stand-ins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.rig_cases import CASES
from support.standin import messages
from support.standin.cloud import FakeCloud, Fault
from support.standin.serve import serve
from trainrig.clouds import registry
from trainrig.clouds.base import Account, Resource
from trainrig.errors import NoCapacity
from trainrig.lifecycle import teardown
from trainrig.lifecycle.apply import Order, apply
from trainrig.lifecycle.context import Context, opened
from trainrig.lifecycle.destroy import destroy
from trainrig.lifecycle.render_rig import render_rig
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.fault import FaultClass
from trainrig.model.job import Job, ResourceOption
from trainrig.model.offer import Market
from trainrig.model.placement import Candidate
from trainrig.store.journal import AttemptState

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

NODE = {
    "aws": ("aws_instance", "us-east-1b"),
    "gcp": ("google_compute_instance", "us-central1-b"),
    "azure": ("azurerm_linux_virtual_machine", "2"),
}
every_cloud = pytest.mark.parametrize("cloud", list(NODE))


class Inventory:
    """What the fake cloud shows by label, as clouds/<cloud>/inventory.py would ask the real one."""

    def __init__(self, fake: FakeCloud) -> None:
        self.fake = fake

    def find(self, account: Account, run_id: str | None = None) -> Iterator[Resource]:
        for found in self.fake.objects():
            if run_id and run_id in json.dumps(found["state"].get("tags") or found["state"].get("labels") or {}):
                yield Resource(
                    cloud=account.cloud,
                    region="",
                    type=found["type"],
                    id=found["state"].get("instance_id") or found["id"],
                    name="",
                    run_id=run_id,
                    expires_at=None,
                    image=image_of(found["type"], found["state"]),
                )

    def delete(self, account: Account, resource: Resource) -> None:
        for found in self.fake.objects(resource.type):
            if resource.id in {found["id"], found["state"].get("instance_id")}:
                self.fake.remove(found["type"], found["id"])


def image_of(type_: str, state: dict[str, Any]) -> str | None:
    """What each cloud's API says of the image of a machine, from what the machine was made of."""
    match type_:
        case "aws_instance":
            return str(state["ami"])
        case "google_compute_instance":
            return str(state["boot_disk"][0]["initialize_params"][0]["image"])
        case "azurerm_linux_virtual_machine":
            found = state["source_image_reference"][0]
            return ":".join(found[part] for part in ("publisher", "offer", "sku", "version"))
        case _:
            return None


@pytest.fixture
def fake(cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCloud]:
    fake = FakeCloud(tmp_path / "cloud")
    monkeypatch.setattr(registry, "inventory", lambda _cloud: Inventory(fake))
    monkeypatch.setattr(teardown, "RETRY_SECONDS", (0.0, 0.0))
    facts = replace(registry.facts(cloud), quiet_seconds=0)
    monkeypatch.setattr(registry, "facts", lambda _cloud: facts)
    with serve(fake.folder) as env:
        monkeypatch.setenv("TRAINRIG_CACHE", str(tmp_path / "cache"))  # not before: the stand-in's schemas are kept
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        yield fake


@pytest.fixture
def context(cloud: str, fake: FakeCloud) -> Iterator[Context]:
    with opened(Environment(name="test", clouds=(CloudPolicy(cloud=cloud),))) as context:
        yield context


def order(cloud: str) -> Order:
    """Two spot nodes in one zone, and in another if that cannot be had."""
    case = next(c for c in CASES if c.cloud == cloud and c.request.nodes == 2 and _market(c.request) is Market.SPOT)
    first = case.request.candidate
    second = replace(first, offer=replace(first.offer, zone=NODE[cloud][1]))
    environment = Environment(name="test", clouds=())
    job = Job(name="finetune", options=(ResourceOption(),))

    def make_root(chosen: Candidate, root: Path, attempt: str) -> None:
        request = replace(case.request, candidate=chosen)
        if cloud == "aws":  # an id, as a lock has it; a name is looked up by Terraform
            request = replace(request, image=replace(request.image, id="ami-0fedcba9876543210"))
        render_rig(request, job=job, environment=environment, out=root, attempt=attempt)

    return Order(identity=case.request.identity, candidates=(first, second), make_root=make_root)


def _market(request: Any) -> Market:
    market: Market = request.candidate.offer.market
    return market


@every_cloud
def test_a_stock_out_moves_the_whole_rig_to_the_next_zone(cloud: str, context: Context, fake: FakeCloud) -> None:
    kind, zone = NODE[cloud]
    fake.inject(Fault(call="create", type=kind, nth=2, error=messages.STOCKOUT[kind.partition("_")[0]]))
    up = apply(context, order(cloud))
    assert (len(up.nodes), up.attempt.zone, len(fake.objects(kind))) == (2, zone, 2)
    first = context.journal.attempts(up.attempt.run_id)[0]
    assert (first.state, first.fault) == (AttemptState.GONE, FaultClass.CAPACITY)

    proof = destroy(context, context.journal.rig(up.attempt.run_id))
    assert proof.clean, proof
    assert fake.objects() == []


@every_cloud
def test_a_machine_that_terraform_lost_is_found_by_its_labels(cloud: str, context: Context, fake: FakeCloud) -> None:
    kind, zone = NODE[cloud]
    error = messages.STOCKOUT[kind.partition("_")[0]]
    fake.inject(Fault(call="create", type=kind, error=error, leaves="orphan"))
    up = apply(context, order(cloud))
    assert (up.attempt.zone, len(fake.objects(kind))) == (zone, 2)
    assert destroy(context, context.journal.rig(up.attempt.run_id)).clean
    assert fake.objects() == []


@every_cloud
def test_a_machine_of_another_image_is_no_success(
    cloud: str, context: Context, fake: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {"aws": "ami-0123456789abcdef0", "gcp": "projects/p/global/images/other", "azure": "a:b:c:1.0.0"}[cloud]
    real = image_of
    monkeypatch.setattr(f"{__name__}.image_of", lambda type_, state: real(type_, state) and other)
    with pytest.raises(NoCapacity, match=f"came up from the image {other}, .* was ordered"):
        apply(context, order(cloud))
    assert fake.objects() == []
