"""The long-lived buckets that an environment names: what to make, from its checkpoint_store and its state backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trainrig.errors import EnvironmentInvalid
from trainrig.model.environment import Environment
from trainrig.model.rig import label_value
from trainrig.model.store_url import CLOUD_OF_SCHEME, BucketPlace, place_of

_CLOUD_OF_BACKEND = {"s3": "aws", "gcs": "gcp", "azurerm": "azure"}
STATE_VERSIONS_DAYS = 365  # of a state one wants to look back further than at a checkpoint


@dataclass(frozen=True, kw_only=True, slots=True)
class Store:
    """One bucket. `holder` is what it lies in where a bucket's name alone does not find it: Azure's storage account."""

    cloud: str
    name: str
    holder: str | None
    region: str
    purposes: tuple[str, ...]  # "checkpoints", "state"
    resource_group: str | None
    account: Mapping[str, str]
    labels: Mapping[str, str]

    @property
    def folder(self) -> str:
        return "-".join(filter(None, (self.cloud, self.holder, self.name)))

    @property
    def url(self) -> str:
        return _url(self.cloud, self.holder, self.name)

    def tfvars(self, *, delete_data: bool) -> dict[str, Any]:
        """Inputs of terraform/modules/checkpoint_store/<cloud>, and of its root."""
        values: dict[str, Any] = {"name": self.name, "region": self.region, "labels": dict(self.labels)}
        if "state" in self.purposes:
            values["noncurrent_days"] = STATE_VERSIONS_DAYS
        if self.cloud == "azure":  # Azure would delete data unasked either way; lifecycle/store.py looks first
            values |= {"storage_account": self.holder, "resource_group": self.resource_group}
        else:
            values["delete_data"] = delete_data
        return values | {"account": dict(self.account)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Bucket:
    """A bucket that an environment names, whoever made it. `endpoint` is another server that speaks S3."""

    cloud: str
    name: str
    holder: str | None
    purposes: tuple[str, ...]
    region: str | None = None
    endpoint: str | None = None

    @property
    def url(self) -> str:
        return _url(self.cloud, self.holder, self.name)


def _url(cloud: str, holder: str | None, name: str) -> str:
    scheme = next(s for s, its_cloud in CLOUD_OF_SCHEME.items() if its_cloud == cloud)
    return f"{scheme}://{'/'.join(filter(None, (holder, name)))}"


def buckets_of(environment: Environment) -> tuple[Bucket, ...]:
    """The buckets that an environment names, a bucket with two purposes once.

    Raises:
        EnvironmentInvalid: a part of a name is missing.
    """
    found = []
    for (cloud, holder, name), purposes in _wanted(environment).items():
        settings = environment.state.settings if "state" in purposes else {}
        found.append(
            Bucket(
                cloud=cloud,
                name=name,
                holder=holder,
                purposes=tuple(purposes),
                region=settings.get("region"),
                endpoint=settings.get("endpoint"),
            )
        )
    return tuple(found)


def _wanted(environment: Environment) -> dict[tuple[str, str | None, str], list[str]]:
    """(cloud, holder, name) -> purposes."""
    wanted: dict[tuple[str, str | None, str], list[str]] = {}
    for purpose, place in (("checkpoints", _checkpoints(environment)), ("state", _state(environment))):
        if place is not None:
            wanted.setdefault(place, []).append(purpose)
    return wanted


def stores_of(environment: Environment, region: str | None = None) -> tuple[Store, ...]:
    """The buckets to make, one each, a bucket with two purposes once. `region` serves where the environment has none.

    Raises:
        EnvironmentInvalid: it names no bucket, or does not say where one is to lie.
    """
    wanted = _wanted(environment)
    if not wanted:
        raise EnvironmentInvalid(
            f"environment {environment.name} names no bucket",
            hint="set checkpoint_store: s3://BUCKET/PREFIX, or a state backend",
        )
    return tuple(_store(environment, place, tuple(purposes), region) for place, purposes in wanted.items())


def _checkpoints(environment: Environment) -> tuple[str, str | None, str] | None:
    """(cloud, holder, bucket); None: a directory, or no store."""
    place = place_of(environment.checkpoint_store) if environment.checkpoint_store else None
    return (place.cloud, place.holder, place.bucket) if isinstance(place, BucketPlace) else None


def _state(environment: Environment) -> tuple[str, str | None, str] | None:
    kind, settings = environment.state.kind, environment.state.settings
    if kind == "local":
        return None
    holder = "storage_account_name" if kind == "azurerm" else None
    name = "container_name" if kind == "azurerm" else "bucket"
    if missing := [key for key in (holder, name) if key and key not in settings]:
        raise EnvironmentInvalid(f"state: {kind} needs {' and '.join(missing)}")
    return _CLOUD_OF_BACKEND[kind], settings[holder] if holder else None, settings[name]


def _store(
    environment: Environment, place: tuple[str, str | None, str], purposes: tuple[str, ...], region: str | None
) -> Store:
    cloud, holder, name = place
    policy = environment.policy(cloud)
    settings = environment.state.settings if "state" in purposes else {}
    where = settings.get("region") or region or next(iter(policy.regions if policy else ()), None)
    if where is None:
        raise EnvironmentInvalid(f"nothing says in which region {name} is to lie", hint="--region REGION")
    account = dict(policy.account) if policy else {}
    group = settings.get("resource_group_name") or account.get("storage_resource_group")
    return Store(
        cloud=cloud,
        name=name,
        holder=holder,
        region=where,
        purposes=purposes,
        resource_group=(group or f"{environment.project}-store") if holder else None,
        account=account,
        labels={
            # not the managed-by of a rig: sweep must never take a store for a leftover
            "managed-by": "trainrig-store",
            "trainrig-project": label_value(environment.project),
            "trainrig-env": label_value(environment.name),
            "trainrig-store": "-".join(purposes),
        },
    )
