"""Places a job: brings together what is for sale and lets the core decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from trainrig import assets, settings
from trainrig.catalog.query import EVERYTHING, OfferFilter
from trainrig.clouds import registry
from trainrig.errors import UsageError
from trainrig.lifecycle.account_state import account_state
from trainrig.lifecycle.image_gate import gated
from trainrig.lifecycle.local_sizes import with_local_sizes
from trainrig.model.environment import Environment
from trainrig.model.job import Job
from trainrig.model.offer import Offer
from trainrig.model.placement import Placement, RejectionCode
from trainrig.model.tariff import CloudCosts
from trainrig.placement.decide import decide, machine_misfit, region_misfit
from trainrig.store.catalog_index import CatalogIndex


def place(
    job: Job,
    environment: Environment,
    *,
    now: datetime,
    complete: bool = True,
    burst_approved: bool = False,
) -> Placement:
    """The placement of a job in an environment. Needs no network and no credentials: what is not on this machine, it
    says that it does not know. `burst_approved`: a person lets accounts that ask first spend past their credit.

    Not `complete`, the offers of machine types that do not fit are counted by reason and not listed, which is much
    quicker over a large catalogue; the decision is the same.

    Raises:
        UsageError: the environment names a cloud that does not exist.
    """
    job = with_local_sizes(job)
    costs = costs_of(environment)
    computed = list(computed_offers(environment, now))
    with open_index() as index:
        _check_clouds(environment, index)
        counted: Counter[RejectionCode] = Counter()
        wanted = EVERYTHING if complete else _shortlist(index, job, environment, costs, counted)
        stamp = index.stamp(now, environment.cloud_names)
        state = account_state(environment, index, settings.home(), now)
        placement = decide(
            job,
            environment,
            [*computed, *index.offers(wanted)],
            now=now,
            costs=costs,
            quotas=state.quotas,
            cooldowns=state.cooldowns,
            spend=replace(state.spend, burst_approved=burst_approved),
            uplink_mbit=settings.uplink_mbit(),
            stamp=replace(stamp, offers=stamp.offers + len(computed)),
            counted=counted,
        )
    return gated(placement, job)


def open_index() -> CatalogIndex:
    return CatalogIndex.open(settings.home(), assets.data("offers.csv"))


def _shortlist(
    index: CatalogIndex,
    job: Job,
    environment: Environment,
    costs: Mapping[str, CloudCosts],
    counted: Counter[RejectionCode],
) -> OfferFilter:
    """The machine types and regions of which an offer may fit; adds all other offers to `counted`.

    All offers of a type in a region are taken or left together, since prices are compared among them.
    """
    machines = index.machines()
    misfits = {m.id: machine_misfit(job, environment, costs, m) for m in machines}
    types = {(m.cloud, m.instance_type) for m in machines if misfits[m.id] is None}
    near = [m for m in machines if (m.cloud, m.instance_type) in types]
    places = index.regions(near)
    verdicts = {
        (m.id, region): region_misfit(job, environment, costs, m, region) for m in near for region in places[m.id]
    }
    regions = {region for (_id, region), misfit in verdicts.items() if misfit is None}
    for m in machines:
        misfit = misfits[m.id]
        if misfit is not None and (m.cloud, m.instance_type) not in types:
            counted[misfit[0]] += m.offers
    for (machine, region), misfit in verdicts.items():
        if misfit is not None and region not in regions:
            counted[misfit[0]] += places[machine][region]
    return OfferFilter(types=types if regions else (), regions=regions)


def _check_clouds(environment: Environment, index: CatalogIndex) -> None:
    priced = {s.cloud for s in index.sources()}
    for cloud in environment.cloud_names:
        if cloud not in priced and not registry.has(cloud, "facts"):
            raise UsageError(
                f"the environment {environment.name} names the cloud {cloud!r}, which does not exist",
                hint=f"known: {', '.join(sorted({*registry.names(), *priced}))}",
            )


def computed_offers(environment: Environment, now: datetime) -> Iterator[Offer]:
    """Offers of the environment's clouds that know what they sell without asking anyone."""
    from trainrig.tools import proc

    for cloud in environment.cloud_names:
        if registry.has(cloud, "computed_offers"):
            yield from registry.computed_offers(cloud).offers(proc.run, now)


def costs_of(environment: Environment) -> dict[str, CloudCosts]:
    """By cloud: what a bill is made from. Clouds that cannot start machines are left out: they have prices only."""
    found = {}
    for cloud in environment.cloud_names:
        if not registry.has(cloud, "facts"):
            continue
        facts = registry.facts(cloud)
        if facts.readiness != "not_built":
            found[cloud] = CloudCosts(
                address_hour_usd=facts.address_hour_usd,
                disk_gb_month_usd=facts.disk_gb_month_usd,
                markets=facts.markets,
                tariff=registry.tariff(cloud),
            )
    return found
