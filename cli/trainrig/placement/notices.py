"""What a reader of a placement must know beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from trainrig.catalog import quality
from trainrig.model.environment import Environment
from trainrig.model.job import Job
from trainrig.model.offer import Market
from trainrig.model.placement import Candidate, Notice, Rejection
from trainrig.model.placement import RejectionCode as Code
from trainrig.model.tariff import CloudCosts
from trainrig.placement import gravity, upload
from trainrig.placement.score import work_hours


def of(
    job: Job,
    environment: Environment,
    candidates: list[Candidate],
    rejections: list[Rejection],
    costs: Mapping[str, CloudCosts],
    now: datetime,
) -> tuple[Notice, ...]:
    found = [
        *_hours(job, candidates),
        *_checkpoints(job, candidates),
        *_prices(environment, candidates, rejections, now),
    ]
    if candidates:
        found += gravity.notices(job, candidates, costs)
        found += _lease(job, environment, candidates[0])
        if not costs[candidates[0].offer.cloud].tariff.free:
            found += upload.notices(job)
    return tuple(found)


def _hours(job: Job, candidates: list[Candidate]) -> list[Notice]:
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


def _checkpoints(job: Job, candidates: list[Candidate]) -> list[Notice]:
    if job.checkpoints is not None or not any(c.offer.market is Market.SPOT for c in candidates):
        return []
    return [
        Notice(
            code="spot_without_checkpoints",
            detail="the job has no checkpoints: every preemption of a spot machine is priced as the loss of all work",
        )
    ]


def _prices(
    environment: Environment, candidates: list[Candidate], rejections: list[Rejection], now: datetime
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
        found.append(Notice(code=flag, detail=f"not bought, {quality.REFUSED[flag]}: {_offers(count)}"))
    return found


def _offers(count: int) -> str:
    return f"{count:,} offer{'' if count == 1 else 's'}"


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
