"""What an offer would cost to the end of the job: the whole bill, in parts that add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from trainrig.model.job import Job, ResourceOption
from trainrig.model.money import cents
from trainrig.model.offer import Market, Offer
from trainrig.model.placement import CostParts
from trainrig.model.tariff import CloudCosts
from trainrig.placement import egress, preemption

HOURS_IN_MONTH = Decimal(730)
DEFAULT_INTERVAL_MINUTES = Decimal(15)  # of a checkpoint contract that does not say its own
NO_PREEMPTION = Decimal(0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    parts: CostParts
    run: preemption.Run
    work_hours: Decimal
    hazard_source: str | None  # None: nothing takes the machines back


def work_hours(job: Job) -> tuple[Decimal, bool]:
    """Hours of undisturbed work, and whether the job said so. Else its timeout; else one hour, so that costs read as
    costs of an hour."""
    if job.expected_hours is not None:
        return job.expected_hours, True
    if job.timeout_seconds is not None:
        return Decimal(job.timeout_seconds) / 3600, True
    return Decimal(1), False


def interval_hours(job: Job) -> Decimal | None:
    """Hours between checkpoints; None without a checkpoint contract."""
    if job.checkpoints is None:
        return None
    return (job.checkpoints.interval_minutes or DEFAULT_INTERVAL_MINUTES) / 60


def score(
    job: Job, option: ResourceOption, offer: Offer, costs: Mapping[str, CloudCosts], store: str | None = None
) -> Score | None:
    """The bill for all nodes. `store` is the URL under which checkpoints are kept.

    None: taken back so often that it would never finish.
    """
    assert offer.price_hour_usd is not None
    cost = costs[offer.cloud]
    work, _said = work_hours(job)
    setup = cost.tariff.setup_minutes / 60
    hazard = cost.tariff.hazard(offer.gpu) if offer.market is Market.SPOT else None
    run = preemption.run(
        work=work,
        setup=setup,
        per_hour=hazard.per_hour if hazard else NO_PREEMPTION,
        interval=interval_hours(job),
    )
    if run is None:
        return None
    hour = offer.price_hour_usd * job.nodes
    return Score(
        run=run,
        work_hours=work,
        hazard_source=hazard.source if hazard else None,
        parts=CostParts(
            compute_usd=cents(hour * work),
            setup_usd=cents(hour * setup),
            lost_work_usd=cents(max(hour * (run.billed_hours - work - setup), Decimal(0))),
            disk_usd=cents(option.disk_gb * cost.disk_gb_month_usd / HOURS_IN_MONTH * run.billed_hours * job.nodes),
            network_usd=cents(cost.address_hour_usd * run.billed_hours * job.nodes),
            egress_usd=cents(data_usd(job, offer, run, costs) + checkpoints_usd(job, offer, work, costs, store)),
        ),
    )


def data_usd(job: Job, offer: Offer, run: preemption.Run, costs: Mapping[str, CloudCosts]) -> Decimal:
    """Declared data to every node, and again after every preemption."""
    return egress.price(
        egress.declared(job, costs),
        job.nodes * (1 + run.preemptions),
        offer.cloud,
        offer.region,
        costs,
        job.placement.egress_usd_per_gb,
    )


def checkpoints_usd(
    job: Job, offer: Offer, work: Decimal, costs: Mapping[str, CloudCosts], store: str | None
) -> Decimal:
    """Every checkpoint of declared size that leaves the machines' cloud for a store in another one."""
    interval = interval_hours(job)
    size = job.checkpoints.size_gb if job.checkpoints else None
    there = egress.cloud_of(store, costs) if store else None
    if interval is None or size is None or there is None or there == offer.cloud:
        return Decimal(0)
    gb = size * work / interval
    flat = job.placement.egress_usd_per_gb
    return egress.staircase(costs[offer.cloud].tariff.internet, gb) if flat is None else flat * gb
