"""What it would save to take a running job elsewhere, and what the way there costs. The bills are those of score.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from trainrig.model.environment import Environment
from trainrig.model.job import Job, ResourceOption
from trainrig.model.offer import Market, Offer
from trainrig.model.placement import Candidate
from trainrig.model.tariff import CloudCosts
from trainrig.placement import egress, fit, limits, order
from trainrig.placement.score import Score, data_usd, interval_hours, score

# How often a place that sells is out of machines when asked: on the GPU spot traces that we know, single machines were
# to be had 12 to 92 % of the time in one zone, gangs of 16 about 43 %.
NO_CAPACITY: Final = {Market.SPOT: Decimal("0.4"), Market.ON_DEMAND: Decimal("0.1"), Market.RESERVED: Decimal(0)}
RELEASE_HOURS: Final = Decimal("0.05")  # the old rig bills until it is proven gone


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A candidate with the price of now, and the option of the job that it answers."""

    candidate: Candidate
    option: ResourceOption
    price_hour_usd: Decimal  # of one node

    @property
    def offer(self) -> Offer:
        return replace(self.candidate.offer, price_hour_usd=self.price_hour_usd)

    @property
    def hour_usd(self) -> Decimal:
        """Of all nodes."""
        return self.price_hour_usd * self.candidate.nodes


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """US dollars of all nodes. `saving_usd` may be below zero."""

    saving_usd: Decimal
    cost_usd: Decimal


def way(
    job: Job,
    here: Place,
    there: Place,
    *,
    hours_left: Decimal,
    costs: Mapping[str, CloudCosts],
    store: str | None = None,
) -> Way | None:
    """From `here` to `there` with so many hours of work left. `store` is the URL under which checkpoints are kept.

    Nothing is counted for the time after one of the two is likely to have been taken back: the run is placed anew then.

    None: it would never finish there, or not as the job's profile wants it, or what it has here is paid for anyway.
    """
    if here.offer.market is Market.RESERVED or hours_left <= 0:
        return None
    hours = min([hours_left, *(life for p in (here, there) if (life := _life_hours(p, costs)) is not None)])
    left = replace(job, expected_hours=hours)
    stay = score(left, here.option, here.offer, costs, store)
    go = score(left, there.option, there.offer, costs, store)
    if stay is None or go is None:
        return None
    missed = NO_CAPACITY[there.offer.market]
    stays, goes = _running_usd(left, here, stay, costs), _running_usd(left, there, go, costs)
    cost = (
        go.parts.setup_usd
        + missed * stay.parts.setup_usd  # and it comes up in a place such as this one
        + RELEASE_HOURS * here.hour_usd
        + _rework_hours(job) * there.hour_usd
        + data_usd(left, there.offer, replace(go.run, preemptions=Decimal(0)), costs)
        + _checkpoint_usd(job, here.offer, there.offer, costs, store)
    )
    found = Way(saving_usd=(1 - missed) * (stays - goes), cost_usd=cost)
    hours_here = stay.run.billed_hours - costs[here.offer.cloud].tariff.setup_minutes / 60
    hours_there = go.run.billed_hours + RELEASE_HOURS + _rework_hours(job)
    return found if _as_wanted(job, found, stays, hours_there / hours_here) else None


def no_worse_wish(job: Job, environment: Environment, here: Place, there: Place) -> bool:
    """Whether the order that people have written down (options, GPUs, failover, accounts) allows it: cheaper is no
    reason to leave what comes first in it."""
    return _wishes(job, environment, there) <= _wishes(job, environment, here)


def _wishes(job: Job, environment: Environment, place: Place) -> tuple[int, ...]:
    offer = place.candidate.offer
    policy = environment.policy(offer.cloud, place.candidate.account)
    return (
        job.options.index(place.option) if job.ordered else 0,
        fit.gpu_rank(place.option, offer),
        order.failover_rank(environment, offer),
        policy.priority if policy and policy.priority > 0 else limits.NO_PRIORITY,
    )


def _as_wanted(job: Job, found: Way, stays: Decimal, slower: Decimal) -> bool:
    """A move takes time: `speed` pays up to its factor to avoid that, `balanced` weighs it like money."""
    goes = stays - found.saving_usd + found.cost_usd
    match job.placement.profile:
        case "cost":
            return True
        case "balanced":
            return goes * slower < stays
        case "speed":
            return goes * order.SPEED_FACTOR < stays


def _running_usd(job: Job, place: Place, scored: Score, costs: Mapping[str, CloudCosts]) -> Decimal:
    """The bill from the first step on: without the set-up, and without the first copy of the data."""
    first = data_usd(job, place.offer, replace(scored.run, preemptions=Decimal(0)), costs)
    return scored.parts.total_usd - scored.parts.setup_usd - first


def _life_hours(place: Place, costs: Mapping[str, CloudCosts]) -> Decimal | None:
    """For how long a spot rig is expected to live; None: nobody takes it back."""
    if place.offer.market is not Market.SPOT:
        return None
    per_hour = costs[place.offer.cloud].tariff.hazard(place.offer.gpu).per_hour
    return 1 / per_hour if per_hour else None


def _rework_hours(job: Job) -> Decimal:
    """A job that hears a signal has saved all; of one that does not, half an interval is expected to be lost."""
    if job.checkpoints is not None and job.checkpoints.save_signal:
        return Decimal(0)
    return (interval_hours(job) or Decimal(0)) / 2


def _checkpoint_usd(job: Job, here: Offer, there: Offer, costs: Mapping[str, CloudCosts], store: str | None) -> Decimal:
    """One checkpoint of declared size, from its store, else from where it is made, to the new machines."""
    size = job.checkpoints.size_gb if job.checkpoints else None
    kept = egress.cloud_of(store, costs) if store else None
    lies = egress.Data(url="", cloud=kept or here.cloud, region=None if kept else here.region, size_gb=size)
    return egress.price([lies], Decimal(1), there.cloud, there.region, costs, job.placement.egress_usd_per_gb)
