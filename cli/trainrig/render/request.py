"""Everything that a rig's Terraform root is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trainrig.model.placement import Candidate
from trainrig.model.rig import RigIdentity


@dataclass(frozen=True, kw_only=True, slots=True)
class PinnedImage:
    """A machine image with no floating part. `id` is what Terraform gets; the rest is what the gate checks."""

    id: str
    name: str
    driver: str | None = None  # "570.172.08"; None: no GPU driver inside
    cuda: str | None = None  # "12.8"


@dataclass(frozen=True, kw_only=True, slots=True)
class RigRequest:
    """One attempt on one candidate, before it is Terraform."""

    identity: RigIdentity
    candidate: Candidate
    nodes: int
    disk_gb: int
    image: PinnedImage
    ssh_public_key: str
    ssh_ingress_cidrs: tuple[str, ...]
    lease_seconds: int
    checkpoint_prefix: str | None = None  # "s3://bucket/trainrig/RUN_ID/": the run's own place, where a node may write
    read_write_urls: tuple[str, ...] = ()  # buckets that the job works on
    read_only_urls: tuple[str, ...] = ()
    container: str | None = None  # the image, where a node pulls it by its own identity
    existing_network: Mapping[str, str] = field(default_factory=dict)  # the cloud's own ids; empty: make one
    reservation: str | None = None
    account: Mapping[str, str] = field(default_factory=dict)  # of the environment: profile, project, subscription, ...
