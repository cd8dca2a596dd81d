"""The decision: which offer, which next, and why not each of the others. Pure, and independent of the offers' order."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from trainrig.catalog import quality
from trainrig.model.clock import iso
from trainrig.model.cooldown import Cooldown
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.job import Job, ResourceOption
from trainrig.model.offer import Market, Offer
from trainrig.model.placement import (
    Candidate,
    CatalogStamp,
    Placement,
    Rejection,
)
from trainrig.model.placement import RejectionCode as Code
from trainrig.model.tariff import CloudCosts, Tariff
from trainrig.placement import fit, gravity, limits, notices, order
from trainrig.placement.quota import QuotaBook
from trainrig.placement.score import Score, score
from trainrig.placement.upload import DEFAULT_UPLINK_MBIT

NO_QUOTAS = QuotaBook()

HOURS = Decimal("0.0001")  # how exactly a candidate tells them

# How far an offer got. Of several options that all say no, the one that got furthest gives the reason.
STAGE = {
    code: stage
    for stage, code in enumerate(
        (
            Code.CLOUD_NOT_ALLOWED,
            Code.CLOUD_DISABLED,
            Code.INSTANCE_TYPE,
            Code.GPU_MISMATCH,
            Code.GPU_COUNT,
            Code.CPUS,
            Code.MEMORY,
            Code.DISK,
            Code.REGION_NOT_ALLOWED,
            Code.ZONE_NOT_ALLOWED,
            Code.MULTI_NODE_UNSUPPORTED,
            Code.MARKET_NOT_ALLOWED,
            Code.FEATURE_UNSUPPORTED,
            Code.NO_PRICE,
            Code.BAD_PRICE,
            Code.STALE_PRICE,
            Code.COOLDOWN,
            Code.PRICE_CAP,
            Code.QUOTA_UNKNOWN,
            Code.QUOTA,
            Code.DEADLINE,
            Code.BUDGET,
            Code.MAX_COST,
            Code.CREDITS,
            Code.DRIVER_CUDA_MISMATCH,  # also said of what fits in all else, once its machine image is known
            Code.NO_IMAGE,
            Code.BEYOND_FALLBACKS,
        )
    )
}


def decide(
    job: Job,
    environment: Environment,
    offers: Iterable[Offer],
    *,
    now: datetime,
    costs: Mapping[str, CloudCosts],
    quotas: QuotaBook = NO_QUOTAS,
    cooldowns: Sequence[Cooldown] = (),
    spend: limits.Spend = limits.NOTHING_SPENT,
    uplink_mbit: Decimal = DEFAULT_UPLINK_MBIT,
    stamp: CatalogStamp | None = None,
    counted: Mapping[Code, int] | None = None,
) -> Placement:
    """Every offer ends up chosen, as a fallback or rejected, once; where a cloud has several accounts, a candidate once
    for each that may hold it.

    `now` is timezone-aware. `costs` has the clouds on which rigs can be started. `stamp` and `counted` come from an
    index that has seen more offers than it handed over.
    """
    checked = quality.checked(offers, free={c for c in costs if costs[c].tariff.free})
    considered = _Considered(
        job=job,
        environment=environment,
        now=now,
        costs=costs,
        quotas=quotas,
        cooldowns=cooldowns,
        spend=spend,
        refreshed=quality.refreshed_types(checked, now, environment.max_price_age_hours),
    )
    ranked: list[order.Ranked] = []
    rejections: list[Rejection] = []
    for offer in checked:
        verdict = considered(offer)
        if isinstance(verdict, list):
            ranked += verdict
        else:
            rejections.append(Rejection(offer=offer, code=verdict[0], detail=verdict[1]))
    candidates = gravity.with_breakeven(job, order.ordered(ranked, job.placement.profile), costs)
    keep = len(candidates) if job.placement.fallbacks is None else job.placement.fallbacks + 1
    rejections += [
        Rejection(offer=c.offer, code=Code.BEYOND_FALLBACKS, detail=f"the job asks for {keep - 1} fallbacks")
        for c in candidates[keep:]
    ]
    candidates = candidates[:keep]
    return Placement(
        job=job.name,
        catalog=stamp or stamp_of(checked, now),
        chosen=candidates[0] if candidates else None,
        fallbacks=tuple(candidates[1:]),
        rejections=tuple(sorted(rejections, key=lambda r: order.offer_key(r.offer))),
        warnings=notices.of(
            job,
            environment,
            candidates,
            rejections,
            costs=costs,
            quotas=quotas,
            now=now,
            uplink_mbit=uplink_mbit,
        ),
        counted=counted or {},
    )


def nearest_first(placement: Placement) -> list[Rejection]:
    """The rejections, those first that got furthest; by place within a reason."""
    return sorted(placement.rejections, key=lambda r: -STAGE[r.code])


def accounts_of(environment: Environment, cloud: str) -> tuple[Environment, ...]:
    """The environment once for each account of a cloud, with that account alone; as it is where it has none or one."""
    policies = environment.policies(cloud)
    return tuple(environment.using(cloud, p.name) for p in policies) if len(policies) > 1 else (environment,)


def machine_misfit(
    job: Job, environment: Environment, costs: Mapping[str, CloudCosts], hardware: fit.Hardware
) -> fit.Misfit | None:
    """Why no option of the job can use a machine, wherever and however it is sold; None when one can."""
    misfits = [fit.machine(job, option, environment, costs, hardware) for option in job.options]
    return None if None in misfits else _furthest([m for m in misfits if m])


def region_misfit(
    job: Job, environment: Environment, costs: Mapping[str, CloudCosts], hardware: fit.Hardware, region: str
) -> fit.Misfit | None:
    """The same for a machine in a region: None when an option can use the machine, and there."""
    misfits = [
        fit.machine(job, option, one, costs, hardware) or fit.region(option, one, hardware.cloud, region)
        for one in accounts_of(environment, hardware.cloud)
        for option in job.options
    ]
    return None if None in misfits else _furthest([m for m in misfits if m])


def _furthest(misfits: Sequence[fit.Misfit]) -> fit.Misfit:
    return max(misfits, key=lambda misfit: STAGE[misfit[0]])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Considered:
    """One offer after another against everything that can rule it out."""

    job: Job
    environment: Environment
    now: datetime
    costs: Mapping[str, CloudCosts]
    quotas: QuotaBook
    cooldowns: Sequence[Cooldown]
    spend: limits.Spend
    refreshed: set[tuple[str, str, str]]
    narrowed: dict[str, tuple[Environment, ...]] = field(default_factory=dict)
    machines: dict[tuple[object, ...], list[fit.Misfit | None]] = field(default_factory=dict)

    def __call__(self, offer: Offer) -> list[order.Ranked] | fit.Misfit:
        """The offer as a ranked candidate in each account that may hold it, or the reason that got furthest."""
        verdicts = [self._account(offer, one) for one in self._accounts(offer.cloud)]
        ranked = [v for v in verdicts if isinstance(v, order.Ranked)]
        return ranked or _furthest([v for v in verdicts if not isinstance(v, order.Ranked)])

    def _account(self, offer: Offer, one: Environment) -> order.Ranked | fit.Misfit:
        """By the best of the job's options."""
        verdicts = [
            hardware or self._option(i, option, offer, one)
            for i, (option, hardware) in enumerate(zip(self.job.options, self._hardware(offer), strict=True))
        ]
        ranked = [v for v in verdicts if isinstance(v, order.Ranked)]
        if ranked:
            return min(ranked, key=lambda r: (r.wishes, order.tie_break(r.candidate)))
        return _furthest([v for v in verdicts if not isinstance(v, order.Ranked)])

    def _accounts(self, cloud: str) -> tuple[Environment, ...]:
        """The environment as each account of a cloud has it."""
        if cloud not in self.narrowed:
            self.narrowed[cloud] = accounts_of(self.environment, cloud)
        return self.narrowed[cloud]

    def _hardware(self, offer: Offer) -> Sequence[fit.Misfit | None]:
        """What each option says of the machine: asked once a machine type, not once an offer."""
        key: tuple[object, ...] = (offer.cloud, offer.instance_type, offer.gpu, offer.gpu_count, offer.gpu_memory_gib)
        key += (offer.vcpus, offer.memory_gib, offer.local_disk_gb)
        known = self.machines.get(key)
        if known is None:
            known = [fit.machine(self.job, o, self.environment, self.costs, offer) for o in self.job.options]
            self.machines[key] = known
        return known

    def _option(self, index: int, option: ResourceOption, offer: Offer, one: Environment) -> order.Ranked | fit.Misfit:
        """An option whose hardware fits, in one account. A machine that is sold on demand can be drawn from a
        reservation of its type, at the same price."""
        policy = one.policy(offer.cloud)
        assert policy is not None  # its hardware would not fit
        if option.reservation and offer.market is Market.ON_DEMAND:
            offer = replace(offer, market=Market.RESERVED)
        misfit = fit.place(self.job, option, one, self.costs, offer) or self._price(option, offer, policy.name)
        if misfit:
            return misfit
        code, quota = self.quotas.verdict(offer, self.job.nodes, policy.name)
        if code is Code.QUOTA:
            return code, quota
        scored = score(self.job, option, offer, self.costs, self._store)
        if scored is None:
            return Code.DEADLINE, "preempted so often, with so much lost each time, that it would never finish"
        return self._bill(index, option, offer, scored, quota, policy)

    @property
    def _store(self) -> str | None:
        own = self.job.checkpoints.store if self.job.checkpoints else None
        return own or self.environment.checkpoint_store

    def _price(self, option: ResourceOption, offer: Offer, account: str) -> fit.Misfit | None:
        if offer.price_hour_usd is None:
            return Code.NO_PRICE, "the catalogue has no price for it"
        doubt = quality.refusal(offer)
        if doubt:
            return Code.BAD_PRICE, doubt
        if (offer.cloud, offer.region, offer.instance_type) in self.refreshed and quality.is_stale(
            offer, self.now, self.environment.max_price_age_hours
        ):
            return Code.STALE_PRICE, f"from {offer.captured_at:%Y-%m-%d}, while others of its type are newer"
        cold = next((c for c in self.cooldowns if self.now < c.until and c.covers(offer, account)), None)
        if cold:
            return Code.COOLDOWN, f"until {iso(cold.until)}: {cold.reason}"
        return limits.price_cap(option, self.environment, offer)

    def _bill(
        self, index: int, option: ResourceOption, offer: Offer, scored: Score, quota: str, policy: CloudPolicy
    ) -> order.Ranked | fit.Misfit:
        cost = scored.parts.total_usd
        account, no_credit = limits.credit(policy, cost, self.spend)
        misfit = (
            limits.deadline(self.job, scored, self.now)
            or limits.money(self.job, self.environment, cost, self.spend)
            or no_credit
        )
        if misfit:
            return misfit
        return order.Ranked(
            candidate=Candidate(
                offer=offer,
                nodes=self.job.nodes,
                expected_hours=scored.run.billed_hours.quantize(HOURS),
                parts=scored.parts,
                image=option.image_id,
                account=policy.name,
                reasons=_reasons(offer, scored, quota, self.costs[offer.cloud].tariff),
            ),
            option=index if self.job.ordered else 0,
            gpu=fit.gpu_rank(option, offer),
            failover=order.failover_rank(self.environment, offer),
            account=account,
        )


def _reasons(offer: Offer, scored: Score, quota: str, tariff: Tariff) -> tuple[str, ...]:
    found = [quality.KEPT[flag] for flag in offer.flags if flag in quality.KEPT]
    if scored.hazard_source is not None:
        found.insert(0, f"{scored.run.preemptions:.1f} preemptions expected ({scored.hazard_source})")
    if quota:
        found.append(quota)
    if tariff.opt_in_zones and re.fullmatch(tariff.opt_in_zones, offer.zone or ""):
        found.append(f"{offer.zone} is a zone that the account must have opted in to")
    return tuple(found)


def stamp_of(offers: Sequence[Offer], now: datetime) -> CatalogStamp:
    """What a list of offers was: its digest does not depend on the order."""
    oldest = min((o.captured_at for o in offers), default=None)
    lines = sorted(repr(order.offer_key(o)) for o in offers)
    return CatalogStamp(
        digest="sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest(),
        captured_at=oldest,
        age_hours=None if oldest is None else age_hours(oldest, now),
        offers=len(lines),
    )


def age_hours(captured_at: datetime, now: datetime) -> float:
    return round(max((now - captured_at).total_seconds(), 0) / 3600, 1)
