"""Places a job: brings together what is for sale and lets the core decide."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from trainrig.clouds import registry
from trainrig.model.environment import Environment
from trainrig.model.job import Job
from trainrig.model.offer import Offer
from trainrig.model.placement import Placement
from trainrig.model.tariff import CloudCosts
from trainrig.placement.decide import decide
from trainrig.placement.limits import NOTHING_SPENT, Spend
from trainrig.tools import proc


def place(job: Job, environment: Environment, *, now: datetime, spend: Spend = NOTHING_SPENT) -> Placement:
    """The placement of a job in an environment. Needs no network and no credentials.

    Raises:
        UsageError: the environment names a cloud that does not exist.
    """
    return decide(
        job,
        environment,
        list(computed_offers(environment, now)),
        now=now,
        costs=costs_of(environment),
        spend=spend,
    )


def computed_offers(environment: Environment, now: datetime) -> Iterator[Offer]:
    """Offers of the environment's clouds that know what they sell without asking anyone."""
    for policy in environment.clouds:
        if registry.has(policy.cloud, "computed_offers"):
            yield from registry.computed_offers(policy.cloud).offers(proc.run, now)


def costs_of(environment: Environment) -> dict[str, CloudCosts]:
    """By cloud: what a bill is made from. Clouds that are not built yet are left out."""
    found = {}
    for policy in environment.clouds:
        facts = registry.facts(policy.cloud)
        if facts.readiness != "not_built":
            found[policy.cloud] = CloudCosts(
                address_hour_usd=facts.address_hour_usd,
                disk_gb_month_usd=facts.disk_gb_month_usd,
                tariff=registry.tariff(policy.cloud),
            )
    return found
