"""Makes and ends the buckets that outlive rigs. Each has a Terraform root and a state of its own under
TRAINRIG_HOME/stores, so that nothing a rig does can reach it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainrig import settings
from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.errors import NotBuilt, RigUnknown, StoppedByPolicy
from trainrig.lifecycle import pins
from trainrig.lifecycle.render_rig import module, template, write
from trainrig.model.environment import Environment, StateBackend
from trainrig.model.events import Observer, Progress
from trainrig.render.root import render_root
from trainrig.render.store import Store, stores_of
from trainrig.tools.terraform import Terraform


@dataclass(frozen=True, kw_only=True, slots=True)
class MadeStore:
    store: Store
    url: str
    backend: Mapping[str, Any]  # what the environment's `state` takes


def apply(environment: Environment, *, region: str | None, observe: Observer) -> tuple[MadeStore, ...]:
    """Makes what the environment names, or brings it up to date.

    Raises:
        EnvironmentInvalid: it names no bucket.
        TerraformFailed: with Terraform's words.
    """
    made = []
    for store in stores_of(environment, region):
        observe(Progress(phase="apply", message=f"{store.url} ({', '.join(store.purposes)})"))
        outputs = _change(store, delete_data=False)
        made.append(MadeStore(store=store, url=str(outputs["url"]), backend=outputs["backend"]))
    return tuple(made)


def destroy(
    environment: Environment,
    *,
    region: str | None,
    delete_data: bool,
    observe: Observer,
) -> tuple[Store, ...]:
    """Ends what `apply` made. Looks into every bucket before it touches one.

    Raises:
        RigUnknown: this machine has no state of such a store.
        StoppedByPolicy: a bucket holds data, and `delete_data` is not set.
    """
    stores = stores_of(environment, region)
    for store in stores:
        if not (_root(store) / "terraform.tfstate").exists():
            raise RigUnknown(
                f"{store.url} was not made from here: there is no state in {_root(store)}",
                hint="run it where `trainrig store apply` ran, or with that TRAINRIG_HOME",
            )
        if not delete_data and holds_data(store):
            raise StoppedByPolicy(f"{store.url} holds data", hint="to delete it with the store: --delete-data")
    for store in stores:
        observe(Progress(phase="destroy", message=store.url))
        if delete_data:
            _change(store, delete_data=True)
        Terraform(_root(store)).destroy().check()
    return stores


def holds_data(store: Store) -> bool:
    """Whether any object is in it, old versions included."""
    account = Account(cloud=store.cloud, regions=(store.region,), settings=store.account)
    return registry.store(store.cloud).holds_data(account, store.holder, store.name)


def _root(store: Store) -> Path:
    return settings.home() / "stores" / store.folder


def _change(store: Store, *, delete_data: bool) -> Mapping[str, Any]:
    if not registry.has(store.cloud, "store"):
        raise NotBuilt(f"{store.cloud}: stores are not built yet")
    root, name = _root(store), f"checkpoint_store/{store.cloud}"
    address = registry.facts(store.cloud).terraform_provider
    write(
        render_root(
            cloud=store.cloud,
            template=template(name.replace("/", "_")),
            module_files=module(name),
            tfvars=store.tfvars(delete_data=delete_data),
            backend=StateBackend(),
            state_key="",
            provider=(address, pins.shipped().providers[address]),
        ),
        root,
    )
    terraform = Terraform(root)
    terraform.init().check()
    terraform.plan().check()
    terraform.apply().check()
    return terraform.output()
