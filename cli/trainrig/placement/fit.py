"""Whether an offer fits a job: hardware first, then where and how it is sold. Every no has a code and a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from trainrig.catalog import normalise
from trainrig.model.environment import Environment
from trainrig.model.job import Amount, GpuRequest, Job, ResourceOption
from trainrig.model.offer import Market, Offer
from trainrig.model.placement import RejectionCode as Code
from trainrig.model.tariff import CloudCosts

Misfit = tuple[Code, str]


class Hardware(Protocol):
    """What of an offer is the machine and its cloud, not its place, market or price."""

    @property
    def cloud(self) -> str: ...
    @property
    def instance_type(self) -> str: ...
    @property
    def gpu(self) -> str | None: ...
    @property
    def gpu_count(self) -> int: ...
    @property
    def gpu_memory_gib(self) -> float | None: ...
    @property
    def vcpus(self) -> float: ...
    @property
    def memory_gib(self) -> float: ...
    @property
    def local_disk_gb(self) -> int: ...


def machine(
    job: Job, option: ResourceOption, environment: Environment, costs: Mapping[str, CloudCosts], offer: Hardware
) -> Misfit | None:
    """Why a machine cannot serve this option, or None. Says nothing of region, market and price."""
    if environment.policy(offer.cloud) is None:
        return Code.CLOUD_NOT_ALLOWED, f"the environment {environment.name} does not have {offer.cloud}"
    if option.cloud is not None and option.cloud != offer.cloud:
        return Code.CLOUD_NOT_ALLOWED, f"the job asks for {option.cloud}"
    if offer.cloud not in costs:
        return Code.CLOUD_DISABLED, f"trainrig cannot start machines on {offer.cloud}: prices only"
    if option.instance_type is not None and option.instance_type != offer.instance_type:
        return Code.INSTANCE_TYPE, f"the job asks for {option.instance_type}"
    return (
        _gpu(option, offer)
        or _cpus_and_memory(option, offer)
        or _disk(option, offer)
        or _driver(job, environment, offer)
    )


def gpu_rank(option: ResourceOption, offer: Hardware) -> int:
    """Which of the option's GPUs, in the order of preference, the machine has; 0 when the job named no order."""
    if not option.gpus_ordered:
        return 0
    return next((i for i, wanted in enumerate(option.gpus) if _one_gpu(wanted, offer) is None), len(option.gpus))


def _gpu(option: ResourceOption, offer: Hardware) -> Misfit | None:
    if not option.gpus:
        return None
    misfits = [_one_gpu(wanted, offer) for wanted in option.gpus]
    if None in misfits:
        return None
    # A wrong count is closer than a wrong GPU, and the closest no is the most useful one.
    return max((m for m in misfits if m), key=lambda m: m[0] is Code.GPU_COUNT)


def _one_gpu(wanted: GpuRequest, offer: Hardware) -> Misfit | None:
    if offer.gpu is None:
        return Code.GPU_MISMATCH, f"no GPU; the job asks for {shown(wanted)}"
    if wanted.name is not None and wanted.name != offer.gpu:
        return Code.GPU_MISMATCH, f"{offer.gpu} is not {wanted.name}"
    if wanted.vendor is not None:
        known = normalise.gpu(offer.gpu)
        vendor = known.vendor if known else "unknown"
        if vendor.lower() != wanted.vendor.lower():
            return Code.GPU_MISMATCH, f"made by {vendor}; the job asks for {wanted.vendor}"
    if wanted.memory_gib is not None:
        memory = normalise.nominal_memory_gib(offer.gpu, offer.gpu_memory_gib)
        if memory is None or not wanted.memory_gib.admits(memory):
            return Code.GPU_MISMATCH, f"{offer.gpu} has {_number(memory)} GiB; the job asks for {shown(wanted)}"
    if wanted.count != offer.gpu_count:
        return Code.GPU_COUNT, f"{offer.gpu_count} of {offer.gpu}; the job asks for {wanted.count} a node"
    return None


def _cpus_and_memory(option: ResourceOption, offer: Hardware) -> Misfit | None:
    if option.vcpus is not None and not option.vcpus.admits(offer.vcpus):
        return Code.CPUS, f"{_number(offer.vcpus)} vCPUs; the job asks for {_amount(option.vcpus)}"
    if option.memory_gib is not None:
        wanted = option.memory_gib
        if option.memory_per_vcpu:
            wanted = Amount(value=wanted.value * offer.vcpus, at_least=wanted.at_least)
        if not wanted.admits(offer.memory_gib):
            return Code.MEMORY, f"{_number(offer.memory_gib)} GiB; the job asks for {_amount(wanted)} GiB"
    return None


def _disk(option: ResourceOption, offer: Hardware) -> Misfit | None:
    if option.local_disk is None:
        return None
    size = re.search(r":\s*(\d+)", option.local_disk)  # "nvme", "nvme:1000", "nvme:1000+"
    wanted = int(size.group(1)) if size else 1
    if offer.local_disk_gb < wanted:
        return Code.DISK, f"{offer.local_disk_gb} GB of local disk; the job asks for {option.local_disk}"
    return None


def _driver(job: Job, environment: Environment, offer: Hardware) -> Misfit | None:
    driver = job.pins.driver or environment.pins.driver
    cuda = job.pins.cuda or environment.pins.cuda
    if not (driver or cuda) or offer.gpu is None:
        return None
    known = normalise.gpu(offer.gpu)
    if known is None:
        return None
    if known.first_cuda is None:
        return Code.DRIVER_CUDA_MISMATCH, f"{known.name} has no CUDA; the pins ask for {driver or cuda}"
    version = _version(cuda)
    if version and version < known.first_cuda:
        return (
            Code.DRIVER_CUDA_MISMATCH,
            f"CUDA {cuda} is older than {known.name}: first is {_dotted(known.first_cuda)}",
        )
    if version and known.last_cuda and version > known.last_cuda:
        return Code.DRIVER_CUDA_MISMATCH, f"CUDA {cuda} has dropped {known.name}: last is {_dotted(known.last_cuda)}"
    branch = _version(driver)
    if branch and known.first_driver and branch[0] < known.first_driver:
        return Code.DRIVER_CUDA_MISMATCH, f"driver {driver} does not know {known.name}: first is R{known.first_driver}"
    return None


def region(option: ResourceOption, environment: Environment, cloud: str, name: str) -> Misfit | None:
    """Why a region is not allowed, or None."""
    policy = environment.policy(cloud)
    assert policy is not None  # machine() has seen to it
    if option.region is not None and option.region != name:
        return Code.REGION_NOT_ALLOWED, f"the job asks for {option.region}"
    if policy.regions and name not in policy.regions:
        return Code.REGION_NOT_ALLOWED, f"the environment {environment.name} does not have {name}"
    return None


def place(
    job: Job, option: ResourceOption, environment: Environment, costs: Mapping[str, CloudCosts], offer: Offer
) -> Misfit | None:
    """Why an offer whose machine fits is sold in the wrong place or way, or None."""
    policy = environment.policy(offer.cloud)
    assert policy is not None  # machine() has seen to it
    wrong_region = region(option, environment, offer.cloud, offer.region)
    if wrong_region:
        return wrong_region
    if option.zone is not None and option.zone != offer.zone:
        return Code.ZONE_NOT_ALLOWED, f"the job asks for {option.zone}{zone_hint(option.zone, offer)}"
    if policy.zones and offer.zone not in policy.zones:
        return (
            Code.ZONE_NOT_ALLOWED,
            f"the environment {environment.name} does not have {offer.zone or 'any zone'}"
            + next(("; it has " + zone + hint for zone in policy.zones if (hint := zone_hint(zone, offer))), ""),
        )
    scattered = offer.zone is None and costs[offer.cloud].tariff.scatters_nodes
    if scattered and job.nodes > 1 and job.placement.same == "zone":
        return Code.MULTI_NODE_UNSUPPORTED, (
            f"{offer.cloud} sells it by region, so {job.nodes} nodes may lie in several zones; "
            "placement.same: region accepts that"
        )
    wanted = Market.RESERVED if option.reservation else option.market
    if wanted is not None and offer.market is not wanted:
        return Code.MARKET_NOT_ALLOWED, f"the job asks for {wanted.value}"
    if wanted is None and offer.market is Market.RESERVED:
        return Code.MARKET_NOT_ALLOWED, "needs a reservation, which the job does not name"
    if offer.market not in costs[offer.cloud].markets:
        return Code.FEATURE_UNSUPPORTED, f"trainrig cannot start {offer.market.value} machines on {offer.cloud}"
    if offer.market not in policy.markets:
        return Code.MARKET_NOT_ALLOWED, f"the environment {environment.name} does not buy {offer.market.value}"
    return None


def zone_hint(wanted: str, offer: Offer) -> str:
    """AWS: `us-east-1a` is another zone in each account, so offers carry the id that all accounts share."""
    if offer.zone is None or offer.zone.startswith(offer.region) or not wanted.startswith(offer.region):
        return ""
    return f", a name that differs from account to account: offers go by zone id, such as {offer.zone}"


def shown(wanted: GpuRequest) -> str:
    """`A100:8`, `80GiB+:8`: a request as people wrote it."""
    what = wanted.name or f"{_amount(wanted.memory_gib)} GiB" if wanted.name or wanted.memory_gib else "any GPU"
    return f"{what}:{wanted.count}"


def _amount(amount: Amount | None) -> str:
    return "any" if amount is None else f"{_number(amount.value)}{'+' if amount.at_least else ''}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"


def _version(text: str | None) -> tuple[int, int] | None:
    found = re.match(r"(\d+)(?:\.(\d+))?", text or "")
    return (int(found.group(1)), int(found.group(2) or 0)) if found else None


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
