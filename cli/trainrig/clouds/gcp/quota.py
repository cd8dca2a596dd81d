"""Google Cloud quotas: GPUs per kind and region, and GPUs over all regions.

Older kinds have a metric of their own in the region; from H100 on there is one quota with the family as a dimension,
which only the Cloud Quotas API shows, without its use; that is counted from the project's instances.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trainrig.clouds.base import Account
from trainrig.model.offer import Market, Offer
from trainrig.model.quota import Quota, QuotaNeed

GLOBAL = "global"
ALL_REGIONS = "GPUS_ALL_REGIONS"
METRICS = {
    "T4": "NVIDIA_T4_GPUS",
    "P4": "NVIDIA_P4_GPUS",
    "P100": "NVIDIA_P100_GPUS",
    "V100": "NVIDIA_V100_GPUS",
    "L4": "NVIDIA_L4_GPUS",
    "A100": "NVIDIA_A100_GPUS",
    "A100-80GB": "NVIDIA_A100_80GB_GPUS",
}
FAMILIES = {"H100": "NVIDIA_H100", "H100-MEGA": "NVIDIA_H100_MEGA", "H200": "NVIDIA_H200", "B200": "NVIDIA_B200"}
_QUOTA_INFOS = (
    "https://cloudquotas.googleapis.com/v1/projects/{}/locations/global/services/compute.googleapis.com/quotaInfos"
)


def needed(offer: Offer, nodes: int) -> Sequence[QuotaNeed]:
    """GPUs in the region and over all regions; empty for machines without GPUs and for what is reserved already."""
    code = code_of(offer.gpu, offer.market)
    if code is None or offer.market is Market.RESERVED:
        return ()
    amount = Decimal(offer.gpu_count * nodes)
    return (
        QuotaNeed(code=code, amount=amount, region=offer.region),
        QuotaNeed(code=ALL_REGIONS, amount=amount, region=GLOBAL),
    )


def code_of(gpu: str | None, market: Market) -> str | None:
    """`NVIDIA_A100_GPUS`, `PREEMPTIBLE_NVIDIA_A100_GPUS`, `GPUS_PER_GPU_FAMILY:NVIDIA_H100`."""
    prefix = "PREEMPTIBLE_" if market is Market.SPOT else ""
    if gpu in METRICS:
        return f"{prefix}{METRICS[gpu]}"
    if gpu in FAMILIES:
        return f"{prefix}GPUS_PER_GPU_FAMILY:{FAMILIES[gpu]}"
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """None: Google did not say."""

    limit: Decimal | None
    used: Decimal | None


def quotas(account: Account, offers: Sequence[Offer]) -> Iterator[Quota]:
    wanted = {(o.region, o.gpu, o.market) for o in offers if needed(o, 1)}
    if not wanted:
        return
    by_family = family_limits(account) if any(gpu in FAMILIES for _, gpu, _ in wanted) else {}
    in_use = gpus_in_use(account) if by_family else {}
    regional = {region: metrics(account, region) for region in sorted({region for region, _, _ in wanted})}
    for region, gpu, market in sorted(wanted, key=str):
        readings = regional[region]
        if gpu in FAMILIES:
            readings = {
                code_of(gpu, m) or "": Reading(
                    limit=by_family.get((region, FAMILIES[gpu], m)),
                    used=in_use.get((region, FAMILIES[gpu], m), Decimal(0)),
                )
                for m in (Market.ON_DEMAND, Market.SPOT)
            }
        code = code_of(gpu, market)
        assert code is not None  # needed() was not empty
        found = readings.get(code)
        if market is Market.SPOT and (found is None or not found.limit):
            # Without preemptible quota, spot machines count against the standard one.
            found = readings.get(code.removeprefix("PREEMPTIBLE_"), found)
        yield _quota(region, code, market, found)
    yield _quota(GLOBAL, ALL_REGIONS, Market.ON_DEMAND, project_metrics(account).get(ALL_REGIONS))


def _quota(region: str, code: str, market: Market, reading: Reading | None) -> Quota:
    limit, used = (reading.limit, reading.used) if reading else (None, None)
    return Quota(cloud="gcp", region=region, code=code, unit="gpus", market=market, limit=limit, used=used)


def metrics(account: Account, region: str) -> dict[str, Reading]:
    from trainrig.clouds.gcp import session

    with session.translated():
        found = session.compute(account, "Regions").get(
            request={"project": session.project(account), "region": region}, timeout=session.TIMEOUT_SECONDS
        )
    return _readings(found.quotas)


def project_metrics(account: Account) -> dict[str, Reading]:
    from trainrig.clouds.gcp import session

    with session.translated():
        found = session.compute(account, "Projects").get(
            request={"project": session.project(account)}, timeout=session.TIMEOUT_SECONDS
        )
    return _readings(found.quotas)


def _readings(quotas: Sequence[Any]) -> dict[str, Reading]:
    return {q.metric: Reading(limit=Decimal(str(q.limit)), used=Decimal(str(q.usage))) for q in quotas}


def family_limits(account: Account) -> Mapping[tuple[str, str, Market], Decimal]:
    """(region, family, market) -> limit, of the quotas that have the family as a dimension."""
    from trainrig.clouds.gcp import session

    found: dict[tuple[str, str, Market], Decimal] = {}
    base = _QUOTA_INFOS.format(session.project(account))
    for market, prefix in ((Market.ON_DEMAND, ""), (Market.SPOT, "PREEMPTIBLE-")):
        info = session.rest(account, "GET", f"{base}/{prefix}GPUS-PER-GPU-FAMILY-per-project-region")
        for entry in info.get("dimensionsInfos", []):
            family = entry.get("dimensions", {}).get("gpu_family")
            value = entry.get("details", {}).get("value")
            for region in entry.get("applicableLocations", []):
                if family and value is not None:
                    found[region, family, market] = Decimal(value)
    return found


def gpus_in_use(account: Account) -> Mapping[tuple[str, str, Market], Decimal]:
    """(region, family, market) -> GPUs. A stopped machine still counts for Google."""
    from trainrig.clouds.gcp import offers, session

    found: dict[tuple[str, str, Market], Decimal] = {}
    for scope, instance in session.pages(account, "Instances"):
        market = Market.SPOT if instance.scheduling.provisioning_model == "SPOT" else Market.ON_DEMAND
        for gpu in instance.guest_accelerators:
            name, _ = offers.GPUS.get(gpu.accelerator_type.rpartition("/")[2], ("", 0))
            if name in FAMILIES:
                key = (scope.removeprefix("zones/").rpartition("-")[0], FAMILIES[name], market)
                found[key] = found.get(key, Decimal(0)) + gpu.accelerator_count
    return found
