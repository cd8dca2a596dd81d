"""What a reader of a placement must know beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from trainrig.catalog import normalise, quality
from trainrig.model.environment import Environment
from trainrig.model.job import Job, Mount
from trainrig.model.offer import Market
from trainrig.model.placement import Candidate, Notice, Rejection
from trainrig.model.placement import RejectionCode as Code
from trainrig.model.tariff import CloudCosts
from trainrig.placement import gravity, upload
from trainrig.placement.fit import zone_hint
from trainrig.placement.quota import QuotaBook
from trainrig.placement.score import work_hours

_FASTER_DISKS = frozenset({"high", "ultra", "best"})  # than the modules make


def of(
    job: Job,
    environment: Environment,
    candidates: Sequence[Candidate],
    rejections: Sequence[Rejection],
    *,
    costs: Mapping[str, CloudCosts],
    quotas: QuotaBook,
    now: datetime,
    uplink_mbit: Decimal,
) -> tuple[Notice, ...]:
    """In a fixed order: what is assumed, what is doubted, what is not known."""
    found = [
        *_hours(job, candidates),
        *_checkpoints(job, candidates),
        *_move(job),
        *(Notice(code="bucket_not_made", detail=folder_words(m)) for m in job.mounts if m.is_folder),
        *_prices(environment, candidates, rejections, now),
        *_quotas(job, candidates, quotas),
        *_failover(environment, candidates),
        *gravity.notices(job, candidates, costs),
        *_gpu_names(job),
        *_ports(job),
        *_disk_tier(job),
    ]
    if candidates:
        found += _lease(job, environment, candidates[0])
        if not costs[candidates[0].offer.cloud].tariff.free:
            found += upload.notices(job, uplink_mbit)
    return tuple(found)


def folder_words(mount: Mount) -> str:
    """Of a mount that `is_folder`."""
    bucket = f"the bucket {mount.name}" if mount.name else "a bucket"
    filled = f" with what is in {mount.source}" if mount.source else ""
    return (
        f"{mount.target} is a folder of the node{filled}, and goes with it: {bucket} is not made. "
        "Mount one that exists by its URL (source: s3://...), and keep what must last in `checkpoints` and `outputs`"
    )


def _hours(job: Job, candidates: Sequence[Candidate]) -> list[Notice]:
    hours, said = work_hours(job)
    found = []
    if not said:
        found.append(
            Notice(
                code="expected_hours_unknown",
                detail="the job does not say expected_hours: costs are for one hour of work",
            )
        )
    models = sorted({c.offer.gpu for c in candidates if c.offer.gpu})
    if said and len(models) > 1:
        found.append(
            Notice(
                code="hours_same_for_all_gpus",
                detail=f"{hours:f} hours of work are counted on {', '.join(models)} alike",
            )
        )
    return found


def _checkpoints(job: Job, candidates: Sequence[Candidate]) -> list[Notice]:
    if job.checkpoints is not None or not any(c.offer.market is Market.SPOT for c in candidates):
        return []
    return [
        Notice(
            code="spot_without_checkpoints",
            detail="the job has no checkpoints: every preemption of a spot machine is priced as the loss of all work",
        )
    ]


def _move(job: Job) -> list[Notice]:
    if job.recovery.move is None:
        return []
    if job.checkpoints is None:
        return [Notice(code="move_without_checkpoints", detail="`recovery.move` moves no job without `checkpoints`")]
    if job.expected_hours is None:
        words = "`recovery.move` needs to know the work left: `expected_hours`, or a job that writes its `progress`"
        return [Notice(code="move_hours_unknown", detail=words)]
    return []


def _prices(
    environment: Environment, candidates: Sequence[Candidate], rejections: Sequence[Rejection], now: datetime
) -> list[Notice]:
    found = []
    stale = [c for c in candidates if quality.is_stale(c.offer, now, environment.max_price_age_hours)]
    if stale:
        oldest = min(c.offer.captured_at for c in stale)
        found.append(
            Notice(
                code="stale_price",
                detail=f"{len(stale)} of {len(candidates)} candidates have prices older than "
                f"{environment.max_price_age_hours} hours (oldest {oldest:%Y-%m-%d}), and there are no newer ones: "
                "trainrig offers refresh",
            )
        )
    for flag, count in sorted(Counter(f for c in candidates for f in c.offer.flags if f in quality.KEPT).items()):
        found.append(Notice(code=flag, detail=f"{quality.KEPT[flag]}: {count} of {len(candidates)} candidates"))
    refused = Counter(f for r in rejections if r.code is Code.BAD_PRICE for f in r.offer.flags if f in quality.REFUSED)
    for flag, count in sorted(refused.items()):
        found.append(Notice(code=flag, detail=f"not bought, {quality.REFUSED[flag]}: {_count(count, 'offer')}"))
    return found


def _quotas(job: Job, candidates: Sequence[Candidate], quotas: QuotaBook) -> list[Notice]:
    unknown = Counter(
        c.offer.cloud for c in candidates if quotas.verdict(c.offer, job.nodes, c.account)[0] is Code.QUOTA_UNKNOWN
    )
    return [
        Notice(
            code="quota_unknown",
            detail=f"the quota of {_count(n, 'candidate')} on {cloud} is not known: trainrig offers refresh asks",
        )
        for cloud, n in sorted(unknown.items())
    ]


def _failover(environment: Environment, candidates: Sequence[Candidate]) -> list[Notice]:
    """Places of the written order that no offer can have."""
    found = []
    for entry in (e for e in environment.failover if e.count("/") == 2):
        cloud, region, zone = entry.split("/")
        there = (c.offer for c in candidates if (c.offer.cloud, c.offer.region) == (cloud, region))
        hint = next((words for offer in there if (words := zone_hint(zone, offer))), "")
        if hint:
            found.append(
                Notice(code="failover_zone_name", detail=f"`failover` names {entry}{hint}: the entry is no place")
            )
    return found


def _gpu_names(job: Job) -> list[Notice]:
    named = {gpu.name for option in job.options for gpu in option.gpus if gpu.name}
    found = []
    for name in sorted(n for n in named if normalise.gpu(n) is None):
        near = normalise.near(name)
        hint = f": did you mean {', '.join(near)}?" if near else ""
        found.append(Notice(code="gpu_unknown", detail=f"no GPU is known by the name {name}{hint}"))
    return found


def _ports(job: Job) -> list[Notice]:
    ports = sorted({port for option in job.options for port in option.ports})
    if not ports:
        return []
    forward = " ".join(f"--forward {port}" for port in ports if "-" not in port) or "--forward PORT"
    return [
        Notice(
            code="ports_not_opened",
            detail=f"ports {', '.join(ports)} are not opened to the internet: trainrig ssh RIG {forward} brings them "
            "to this machine",
        )
    ]


def _disk_tier(job: Job) -> list[Notice]:
    tiers = sorted({o.disk_tier for o in job.options if o.disk_tier in _FASTER_DISKS})
    if not tiers:
        return []
    return [
        Notice(
            code="disk_tier_not_met",
            detail=f"the boot disk is the cloud's general SSD, and no faster one for disk_tier {' or '.join(tiers)}: "
            "local_disk asks for a machine with fast disks of its own",
        )
    ]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _lease(job: Job, environment: Environment, chosen: Candidate) -> list[Notice]:
    lease = job.lease_seconds or environment.lease_seconds
    if chosen.expected_hours * 3600 <= lease:
        return []
    return [
        Notice(
            code="lease_short",
            detail=f"{chosen.expected_hours:.1f} hours are expected, but the rig's lease ends after "
            f"{Decimal(lease) / 3600:.1f}: set lease, or use trainrig extend",
        )
    ]
