"""In which order candidates are tried. docs/placement.md states every step and every tie-break."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from trainrig.model.environment import Environment
from trainrig.model.job import Profile
from trainrig.model.offer import Offer
from trainrig.model.placement import Candidate

SPEED_FACTOR = Decimal("1.5")  # `speed` looks at what costs at most this many times the cheapest


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranked:
    """A candidate with the wishes that come before its score: lower is tried first."""

    candidate: Candidate
    option: int = 0  # of `ordered:`
    gpu: int = 0  # of a list of accelerators
    failover: int = 0  # of the environment's written order
    account: int = 0  # priority of an account with credit left

    @property
    def wishes(self) -> tuple[int, int, int, int]:
        return (self.option, self.gpu, self.failover, self.account)


def failover_rank(environment: Environment, offer: Offer) -> int:
    """Place in the written order: of the first entry that names the offer's cloud, region or zone. What none names
    comes last."""
    place = (offer.cloud, offer.region, offer.zone)
    for i, entry in enumerate(environment.failover):
        names = tuple(entry.split("/"))
        if names == place[: len(names)]:
            return i
    return len(environment.failover)


def ordered(ranked: Iterable[Ranked], profile: Profile) -> list[Candidate]:
    """Groups of equal wishes first to last; within each by the profile."""
    groups: dict[tuple[int, int, int, int], list[Candidate]] = {}
    for r in ranked:
        groups.setdefault(r.wishes, []).append(r.candidate)
    return [c for wishes in sorted(groups) for c in by_profile(groups[wishes], profile)]


def by_profile(group: list[Candidate], profile: Profile) -> list[Candidate]:
    match profile:
        case "cost":
            return sorted(group, key=tie_break)
        case "balanced":
            return sorted(group, key=lambda c: (c.expected_cost_usd * c.expected_hours, tie_break(c)))
        case "speed":
            limit = min(c.expected_cost_usd for c in group) * SPEED_FACTOR
            return sorted(
                group,
                key=lambda c: (
                    c.expected_cost_usd > limit,
                    c.expected_hours if c.expected_cost_usd <= limit else Decimal(0),
                    tie_break(c),
                ),
            )


def tie_break(c: Candidate) -> tuple[object, ...]:
    """Expected cost, price an hour, expected hours; then names, so that the order never depends on the catalogue's."""
    return (c.expected_cost_usd, c.offer.price_hour_usd, c.expected_hours, *offer_key(c.offer))


def offer_key(offer: Offer) -> tuple[object, ...]:
    """Orders offers by all that they say; equal only for equal offers."""
    return (
        offer.cloud,
        offer.region,
        offer.zone or "",
        offer.instance_type,
        offer.market.value,
        offer.price_hour_usd is None,
        offer.price_hour_usd or Decimal(0),
        offer.captured_at,
        offer.source,
        offer.gpu or "",
        offer.gpu_count,
        offer.gpu_memory_gib is None,
        offer.gpu_memory_gib or 0,
        offer.vcpus,
        offer.memory_gib,
        offer.local_disk_gb,
        offer.flags,
    )
