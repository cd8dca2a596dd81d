"""An environment: what a team allows, where it keeps things, and what its jobs inherit. See docs/environments.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from trainrig.model.job import Pins
from trainrig.model.offer import Market

Burst = Literal["allow", "approve", "deny"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CloudPolicy:
    """One account of one cloud; a cloud with several has one of these for each. `account` names profiles, projects and
    subscriptions; it never holds a secret."""

    cloud: str
    name: str = ""  # of the account, where a cloud has several
    account: Mapping[str, str] = field(default_factory=dict)
    regions: tuple[str, ...] = ()  # empty: all
    zones: tuple[str, ...] = ()  # empty: all of the regions
    markets: tuple[Market, ...] = tuple(Market)
    credit_limit_usd: Decimal | None = None  # what may be spent on this account
    credit_used_usd: Decimal = Decimal(0)
    priority: int = 0  # lower is tried first among equals
    burst: Burst = "allow"  # what happens past the credit limit
    network: Mapping[str, str] = field(default_factory=dict)  # existing ids: vpc, subnet, ...
    max_runs: int | None = None  # of the queue, at once
    max_gpus: Mapping[str, int] = field(default_factory=dict)  # of the queue, at once; GPU name, "*" for each other


@dataclass(frozen=True, kw_only=True, slots=True)
class StateBackend:
    """Where Terraform state lives. `local`: under TRAINRIG_HOME."""

    kind: Literal["local", "s3", "gcs", "azurerm"] = "local"
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    name: str
    clouds: tuple[CloudPolicy, ...]
    project: str = "trainrig"
    owner: str | None = None  # None: the user who runs trainrig
    failover: tuple[str, ...] = ()  # "aws", "gcp/us-central1", ...: the written order; empty: by cost alone
    state: StateBackend = field(default_factory=StateBackend)
    checkpoint_store: str | None = None  # "s3://bucket/prefix", "gs://...", "az://...", "file:///path"
    price_caps_gpu_hour_usd: Mapping[str, Decimal] = field(default_factory=dict)  # GPU name, "*" for all others
    budget_run_usd: Decimal | None = None
    budget_month_usd: Decimal | None = None
    max_runs: int | None = None  # of the queue, at once
    lease_seconds: int = 24 * 3600
    max_lease_seconds: int = 7 * 24 * 3600
    ssh_ingress: tuple[str, ...] = ()  # CIDRs; empty: the caller's own address
    required_labels: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    pins: Pins = field(default_factory=Pins)
    defaults: Mapping[str, Any] = field(default_factory=dict)  # job keys a job inherits when it does not set them
    max_price_age_hours: int = 24 * 30
    source: str | None = None

    @property
    def cloud_names(self) -> tuple[str, ...]:
        """Each cloud once, in the written order."""
        return tuple(dict.fromkeys(c.cloud for c in self.clouds))

    def policies(self, cloud: str) -> tuple[CloudPolicy, ...]:
        """The accounts of a cloud, in the written order."""
        return tuple(c for c in self.clouds if c.cloud == cloud)

    def policy(self, cloud: str, account: str = "") -> CloudPolicy | None:
        """An account of a cloud by its name; without a name, the first."""
        return next((c for c in self.policies(cloud) if account in {"", c.name}), None)

    def using(self, cloud: str, account: str) -> Environment:
        """The same, in which the cloud has this account alone."""
        chosen = self.policy(cloud, account)
        return replace(self, clouds=tuple(c for c in self.clouds if c.cloud != cloud or c is chosen))


_ACCOUNT_IDS = frozenset({"account_id", "role_arn", "project", "subscription", "tenant"})


def account_ids(environment: Environment) -> set[str]:
    """What an environment names of accounts: not secret, and nothing for everybody either."""
    return {value for cloud in environment.clouds for key, value in cloud.account.items() if key in _ACCOUNT_IDS}
