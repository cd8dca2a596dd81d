"""A job: what a job file means once it is read, checked, merged with its environment and free of YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from trainrig.model.offer import Market

Profile = Literal["balanced", "cost", "speed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Amount:
    """`8` is exactly 8, `8+` is at least 8."""

    value: float
    at_least: bool = False

    def admits(self, actual: float) -> bool:
        return actual >= self.value if self.at_least else actual == self.value


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuRequest:
    """One acceptable kind of accelerator. By name, or by memory (`80GB+`) with an optional vendor."""

    count: int
    name: str | None = None  # canonical, catalog/normalise.py
    memory_gib: Amount | None = None
    vendor: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceOption:
    """One acceptable set of hardware; a job has one, or several alternatives."""

    cloud: str | None = None
    region: str | None = None
    zone: str | None = None
    instance_type: str | None = None
    gpus: tuple[GpuRequest, ...] = ()  # alternatives; empty: no GPU asked for
    gpus_ordered: bool = False  # a list is in order of preference, a set is not
    market: Market | None = None  # None: the cheapest that will finish
    vcpus: Amount | None = None
    memory_gib: Amount | None = None
    memory_per_vcpu: bool = False  # `memory: 4x`: memory_gib is a factor of the vCPUs
    disk_gb: int = 256
    disk_tier: str | None = None
    local_disk: str | None = None
    image_id: str | None = None  # machine image
    network_tier: str | None = None
    max_hourly_usd: Decimal | None = None  # a node
    ports: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    reservation: str | None = None


class MountMode(StrEnum):
    COPY = "COPY"
    MOUNT = "MOUNT"
    MOUNT_CACHED = "MOUNT_CACHED"


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    """Data at a path of the container. `source` is a local path, a URL, or None for an empty folder of the node.

    With a `name`, SkyPilot would make a bucket and mount it; here it is a folder of the node, and that is said.
    """

    target: str
    source: str | None
    mode: MountMode = MountMode.COPY
    read_only: bool = False  # the job only reads, although it is mounted
    name: str | None = None
    store: str | None = None
    persistent: bool = True
    size_gb: Decimal | None = None  # declared; egress is priced from it
    region: str | None = None  # where the data lies, when declared

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of the node where the job file means a bucket that would outlive it."""
        return self.mode is not MountMode.COPY and "://" not in (self.source or "")

    @property
    def is_bucket(self) -> bool:
        """Whether it is a bucket that the job works on as on a directory."""
        return self.mode is not MountMode.COPY and "://" in (self.source or "")

    @property
    def is_written(self) -> bool:
        """Whether it is a bucket that the job may write to."""
        return self.is_bucket and not self.read_only


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoints:
    """The checkpoint contract: a directory in the container that is collected and given back."""

    path: str
    interval_minutes: Decimal | None = None  # how often the job writes one
    size_gb: Decimal | None = None
    save_signal: str | None = None  # sent to the container when a preemption is announced
    resume: str = "resume"  # fresh | resume | from:RUN
    keep: int = 3
    store: str | None = None  # URL; None: the environment's


@dataclass(frozen=True, kw_only=True, slots=True)
class MoveWishes:
    """When a running job is taken to a cheaper place among those that were approved."""

    min_saving_usd: Decimal = Decimal(1)  # what is left of the saving once the way is paid
    wait_seconds: int = 3600  # that the job runs in one place, at least
    max_moves: int | None = None  # None: as often as it pays


@dataclass(frozen=True, kw_only=True, slots=True)
class Recovery:
    max_recoveries: int | None = None  # None: spend, deadline and progress are the limits
    on_exit_codes: tuple[int, ...] = ()
    max_restarts_on_errors: int = 0  # of a job that failed by itself
    strategy: str | None = None
    move: MoveWishes | None = None  # None: stay until the rig is lost


ACTS = ("warn", "checkpoint", "stop", "destroy")


@dataclass(frozen=True, kw_only=True, slots=True)
class Guard:
    """`limit` in seconds or percent; `do` when it is passed: tell, commit and tell, stop, destroy at once."""

    limit: int
    do: str = "warn"  # one of ACTS


@dataclass(frozen=True, kw_only=True, slots=True)
class Guards:
    """What is looked at while the job runs, beside budget, deadline, timeout and lease. None: not looked at."""

    idle: Guard | None = None  # seconds in which no GPU of any node was in use
    silence: Guard | None = None  # seconds without a line of the job's log
    disk: Guard | None = None  # percent of a node's disk in use


EVENTS = ("started", "preempted", "moved", "recovered", "guard", "done", "failed", "cancelled")


@dataclass(frozen=True, kw_only=True, slots=True)
class Notify:
    """Who is told what becomes of a run. `webhook` is a reference, since such a URL is often a secret."""

    webhook: str  # "env:NAME" or "file:PATH"
    events: tuple[str, ...] = EVENTS


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacementWishes:
    profile: Profile = "balanced"
    fallbacks: int | None = None  # None: all that fit
    same: Literal["zone", "region"] = "zone"  # where the nodes of one rig lie
    egress_usd_per_gb: Decimal | None = None  # instead of the table


@dataclass(frozen=True, kw_only=True, slots=True)
class Pins:
    driver: str | None = None
    cuda: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """See docs/job-file.md for the meaning of each key."""

    name: str
    options: tuple[ResourceOption, ...]
    ordered: bool = False  # `ordered:`: try options in this order; `any_of:`: cheapest of all
    nodes: int = 1
    workdir: str | None = None  # absolute path, or a git URL
    workdir_ref: str | None = None
    start_in: str | None = None  # directory of the container where the job starts; None: that of the workdir
    image: str | None = None  # the container; None: the cloud's default training image
    container_options: tuple[str, ...] = ()  # of `docker run`, beside ours
    setup: str | None = None
    run: str | None = None
    launch: Literal["torchrun", "ray", "mpi"] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    # "env:NAME" of this machine, "file:PATH" or "value:TEXT": lifecycle/secret_values.py resolves them, late
    secrets: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    inputs: Mapping[str, Decimal] = field(default_factory=dict)  # URL -> GB that the job reads beside its mounts
    metrics: bool = False  # exporters on the nodes
    s3_endpoint: str | None = None  # of s3:// URLs; None: AWS
    checkpoints: Checkpoints | None = None
    outputs: Mapping[str, str] = field(default_factory=dict)  # name -> path in the container
    budget_usd: Decimal | None = None
    deadline: datetime | None = None
    timeout_seconds: int | None = None  # of the run itself
    expected_hours: Decimal | None = None
    placement: PlacementWishes = field(default_factory=PlacementWishes)
    pins: Pins = field(default_factory=Pins)
    recovery: Recovery = field(default_factory=Recovery)
    notify: Notify | None = None
    guards: Guards = field(default_factory=Guards)
    lease_seconds: int | None = None  # None: the environment's
    network: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None  # the job file, for messages
    digest: str = ""  # of the resolved job, without secrets
