"""What a cloud is to trainrig: a folder `clouds/<name>/` of small modules, one a capability, each loaded on first use.

Only `facts.py` is required. It is data: it imports no SDK and talks to nobody. The other capabilities may import the
cloud's SDK, and a cloud without one answers NotBuilt, in words. Every capability is a module that satisfies the
Protocol of the same name below; mypy and tests/contract check that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Protocol

from trainrig.model.events import Observer
from trainrig.model.fabric import Fabric
from trainrig.model.fault import FaultRule
from trainrig.model.node import Node
from trainrig.model.offer import Market, Offer
from trainrig.model.process import Runner
from trainrig.model.quota import Quota, QuotaNeed
from trainrig.model.readiness import Check
from trainrig.model.tariff import Tariff
from trainrig.recovery.stores import Objects

Readiness = Literal["ready", "preview", "not_built"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CloudFacts:
    """What is true of a cloud without asking it."""

    name: str
    title: str
    readiness: Readiness  # ready: run end to end by our tests; preview: proven against schemas and stand-ins only
    markets: frozenset[Market]
    terraform_provider: str  # "hashicorp/aws"
    default_ssh_user: str
    faults: tuple[FaultRule, ...]
    apply_deadline_seconds: int  # wall clock for one candidate, after which apply is interrupted and rolled back
    interruptible_creates: bool  # False: a SIGINT during a create orphans it (azurerm), so wait
    preemption_notice_seconds: int
    address_hour_usd: Decimal  # a public IPv4 address
    disk_gb_month_usd: Decimal  # the boot disk the module creates
    lease_extendable: bool = True  # False: the cloud ends a machine at the hour set when it was made
    zones_named: str | None = None  # pattern; its group `zones` is where a stock-out says that the machine can be had
    quiet_seconds: float = 30  # how late the inventory may show what was just created or deleted
    python_extra: str | None = None  # the extra of pyproject.toml that brings the SDK


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """How to reach a cloud, by reference only: names of profiles, projects and subscriptions, never a secret."""

    cloud: str
    regions: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)  # aws: profile; gcp: project; azure: subscription
    name: str = ""  # in the environment, where a cloud has several


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """Something of ours found in a cloud by its labels."""

    cloud: str
    region: str
    type: str  # the cloud's own word: "instance", "volume", "security_group"
    id: str
    name: str
    run_id: str | None  # None: it has our prefix or profile but lost its labels
    expires_at: datetime | None
    price_hour_usd: Decimal | None = None
    market: Market | None = None  # of a machine, where the cloud says it
    instance_type: str | None = None  # of a machine; the catalogue has its price
    image: str | None = None  # what a machine (GCP: its disk) was made from, written as the module's `image` is
    labelled: bool = True  # False: only a name, a key or a description says whose it is
    disks: tuple[str, ...] = ()  # ids of a machine's disks, where labels alone keep them from being lost


class OffersModule(Protocol):
    """clouds/<name>/offers.py"""

    def offers(self, account: Account) -> Iterator[Offer]:
        """Asks the cloud what it sells now. Raises CredentialsMissing, PreflightFailed (no network)."""
        ...


class PriceModule(Protocol):
    """clouds/<name>/price.py: only where prices move within the hour and one call tells one of them."""

    def price(self, account: Account, offer: Offer) -> Decimal | None:
        """USD an hour of one machine now; None: the cloud names no price for it. Raises CredentialsMissing,
        PreflightFailed (no network), CommandFailed."""
        ...


class TariffModule(Protocol):
    """clouds/<name>/tariff.py: data, like facts.py; a cloud without one has free egress and assumed preemptions."""

    TARIFF: Tariff


class ComputedOffersModule(Protocol):
    """clouds/<name>/computed_offers.py: only where each placement computes them anew (local)."""

    def offers(self, run: Runner, now: datetime) -> Iterator[Offer]: ...


class QuotaModule(Protocol):
    """clouds/<name>/quota.py"""

    def quotas(self, account: Account, offers: Sequence[Offer]) -> Iterable[Quota]:
        """Limits and use that matter for these offers."""
        ...

    def needed(self, offer: Offer, nodes: int) -> Sequence[QuotaNeed]:
        """The quotas that `nodes` of an offer count against, each with the amount; pure, empty when none applies."""
        ...


class ChecksModule(Protocol):
    """clouds/<name>/checks.py"""

    def checks(self, account: Account) -> Iterator[Check]: ...


class InventoryModule(Protocol):
    """clouds/<name>/inventory.py: what is there, whatever Terraform's state says."""

    def find(self, account: Account, run_id: str | None = None) -> Iterator[Resource]:
        """All resources of ours, or of one run, in dependency order: what must be deleted first comes first."""
        ...

    def delete(self, account: Account, resource: Resource) -> None:
        """Deletes one; already gone is fine. Raises CommandFailed when the cloud refuses, with its words."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineImage:
    """A GPU machine image that a cloud offers. `driver` and `cuda` only where the cloud itself says them; "580" is a
    branch."""

    name: str
    id: str
    driver: str | None = None
    cuda: str | None = None


class ImagesModule(Protocol):
    """clouds/<name>/images.py: what `trainrig lock` asks."""

    PER_REGION: bool  # ids differ from region to region

    def newest(self, account: Account, region: str, arch: str) -> MachineImage | None:
        """The newest image of the kind that trainrig uses; `arch` is x86_64 or arm64. None: there is none."""
        ...

    def find(self, account: Account, region: str, name: str) -> MachineImage | None:
        """The image of exactly that name, deprecated or not. None: it is not there."""
        ...


class StoreModule(Protocol):
    """clouds/<name>/store.py: looks into the long-lived buckets."""

    def holds_data(self, account: Account, holder: str | None, name: str) -> bool:
        """Whether a bucket has any object, old versions included; a bucket that is gone has none. `holder` is what it
        lies in where its name alone does not find it (Azure: the storage account)."""
        ...

    def access(
        self, account: Account, holder: str | None, name: str, *, region: str | None, endpoint: str | None
    ) -> str:
        """What these credentials may do with a bucket, found out without changing anything. `endpoint` is another
        server that speaks S3.

        Raises:
            RigError: the bucket is not there, or may not be used; the hint mends it.
        """
        ...


class ObjectsModule(Protocol):
    """clouds/<name>/objects.py: reads and writes a bucket that checkpoints are kept in."""

    def objects(self, account: Account, holder: str | None, bucket: str) -> Objects:
        """`holder` as for the store. Asks nobody yet."""
        ...


class HostKeysModule(Protocol):
    """clouds/<name>/host_keys.py: only where the Terraform module cannot know a node's SSH host key."""

    def host_key(self, account: Account, node: Node, *, region: str, zone: str | None) -> str | None:
        """What the node said of its own key where only the cloud's credentials can read it; None: nothing yet."""
        ...


class TfvarsModule(Protocol):
    """clouds/<name>/tfvars.py: pure."""

    def tfvars(self, request: Any) -> dict[str, Any]:
        """The module inputs that only this cloud has, for a render.request.RigRequest."""
        ...


class ImageRightsModule(Protocol):
    """clouds/<name>/image_rights.py: only where the cloud has a container registry that a node's own identity opens;
    pure. `container` is a reference, `account` the environment's settings of the account."""

    def variables(self, container: str, account: Mapping[str, str]) -> dict[str, Any]:
        """The module inputs that let a node pull it; empty: it lies in no registry of this cloud, or not in one where
        trainrig grants rights."""
        ...

    def lacking(self, container: str, account: Mapping[str, str]) -> str:
        """Why trainrig grants no right on an image in a registry of this cloud, and what to do; empty: it does, or the
        image lies elsewhere."""
        ...


class GrantsModule(Protocol):
    """clouds/<name>/grants.py: only where to let a node into a place takes a right on that very place."""

    def grants(self, account: Account, urls: Sequence[str], containers: Sequence[str]) -> Iterator[Check]:
        """Whether these credentials may let nodes into buckets and into the repositories of images; those of other
        clouds are passed over. Changes nothing."""
        ...


class FabricModule(Protocol):
    """clouds/<name>/fabric.py: only where nodes can have a faster network between them than Ethernet; pure."""

    def fabric(self, offer: Offer, nodes: int, network: Mapping[str, str]) -> Fabric:
        """What joins `nodes` of an offer. `network` names the existing ids that the rig is made in."""
        ...


class ProviderModule(Protocol):
    """clouds/<name>/provider.py: only where trainrig itself is the Terraform provider (local)."""

    def serve(self) -> AbstractContextManager[Mapping[str, str]]:
        """Serves the provider in this process; yields what Terraform's environment needs to reach it."""
        ...

    def lay_plugin(self, root: Path) -> None:
        """Puts the provider into `root/terraform.d/plugins`, so that plain `terraform` works there."""
        ...


class PrepareModule(Protocol):
    """clouds/<name>/prepare.py: what must be on this machine before apply (local: Docker, the node image)."""

    def prepare(self, run: Runner, observe: Observer) -> None: ...


class BuiltImagesModule(Protocol):
    """clouds/<name>/built_images.py: only where trainrig makes the images itself, and no lock names them (local)."""

    def machine(self) -> str:
        """What a node boots from."""
        ...

    def container(self) -> str:
        """What a job runs in that names no image."""
        ...


class DrillModule(Protocol):
    """clouds/<name>/drill.py: takes a node away on purpose, as the cloud would."""

    def preempt(self, account: Account, node: Node, *, notice: bool) -> None: ...
