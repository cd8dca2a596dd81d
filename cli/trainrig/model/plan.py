"""A plan: what a reviewer approves before a rig may exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from trainrig.model.placement import Candidate, Placement
from trainrig.model.rig import RigIdentity

# What the machine that applies fills in; see render/late_bound.py.
LATE_BOUND = ("run_id", "lease_hour", "owner", "ssh_public_key", "ssh_ingress_cidrs")


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedResource:
    """One resource of the chosen candidate. `values` are redacted, and None where no provider was asked."""

    address: str
    type: str
    actions: tuple[str, ...]  # as Terraform writes them: ("create",), ("delete", "create")
    sensitive: bool = False
    values: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What a reviewer should look at. `code` is stable."""

    code: str
    detail: str
    address: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A rule of render/policy.py. `holds`: None where no provider was asked, so that nobody can tell."""

    code: str
    says: str
    holds: bool | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """`digest` is of the meaning: equal for plans that differ in prices, run id, lease hour, SSH key and the caller's
    address alone. `terraform_digest` is of every value that Terraform planned; None offline."""

    identity: RigIdentity
    placement: Placement
    offline: bool
    digest: str
    terraform_digest: str | None
    expires_at: datetime  # of the plan
    resources: tuple[PlannedResource, ...]
    findings: tuple[Finding, ...]
    unknown: tuple[str, ...]  # what could not be known, in words
    pins: Mapping[str, str] = field(default_factory=dict)  # what is fixed: images, container, providers
    lease_seconds: int = 0
    work: Mapping[str, str] = field(default_factory=dict)  # what the job does with the rig; see render/work.py
    policy: tuple[Rule, ...] = ()

    @property
    def chosen(self) -> Candidate:
        assert self.placement.chosen is not None, "only a placed job has a plan"
        return self.placement.chosen

    @property
    def ceiling_hour_usd(self) -> Decimal:
        """What the whole rig may cost an hour: its dearest reviewed candidate."""
        return max((c.offer.price_hour_usd or Decimal(0)) * c.nodes for c in self.placement.candidates)

    def count(self, *actions: str) -> int:
        return sum(r.actions == actions for r in self.resources)

    @property
    def counts(self) -> dict[str, int]:
        return {
            "add": self.count("create"),
            "change": self.count("update"),
            "destroy": self.count("delete") + self.count("forget"),
            "replace": self.count("delete", "create") + self.count("create", "delete"),
        }
