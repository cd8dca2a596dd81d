"""Data pulls: what moving it away costs, and after how many hours a cheaper machine has earned that back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from trainrig.model.job import Job
from trainrig.model.money import dollars
from trainrig.model.placement import Candidate, Notice
from trainrig.model.tariff import CloudCosts
from trainrig.placement import egress


def breakeven_hours(egress_usd: Decimal, saved_hour_usd: Decimal) -> Decimal | None:
    """Hours of work after which a cheaper machine has earned back the way to it. None: never."""
    if saved_hour_usd <= 0:
        return None
    return (egress_usd / saved_hour_usd).quantize(Decimal("0.1"))


def with_breakeven(job: Job, candidates: Sequence[Candidate], costs: Mapping[str, CloudCosts]) -> list[Candidate]:
    """The candidates, those apart from their data with the hours after which that pays against staying with it."""
    data = egress.declared(job, costs)
    if not data:
        return list(candidates)
    home = min((hour_usd(c) for c in candidates if not _away(c, data)), default=None)
    return [_told(job, c, away, home, costs) if (away := _away(c, data)) else c for c in candidates]


def hour_usd(candidate: Candidate) -> Decimal:
    """What the machines of a whole rig cost an hour."""
    assert candidate.offer.price_hour_usd is not None
    return candidate.offer.price_hour_usd * candidate.nodes


def _away(candidate: Candidate, data: Sequence[egress.Data]) -> list[egress.Data]:
    """The data that must cross a border that is charged for."""
    return [d for d in data if egress.apart(d, candidate.offer.cloud, candidate.offer.region)]


def _told(
    job: Job,
    candidate: Candidate,
    away: Sequence[egress.Data],
    home: Decimal | None,
    costs: Mapping[str, CloudCosts],
) -> Candidate:
    if any(d.size_gb is None for d in away):
        reason = f"{_names(away)} must be moved there, at a price that is not counted: its size is not declared"
        return replace(candidate, reasons=(*candidate.reasons, reason))
    offer, flat = candidate.offer, job.placement.egress_usd_per_gb
    once = egress.price(away, Decimal(candidate.nodes), offer.cloud, offer.region, costs, flat)
    moved = f"moving {_names(away)} there once costs {dollars(once)}"
    if home is None:
        reason, hours = f"{moved}; nothing that fits lies beside it", None
    else:
        saved = home - hour_usd(candidate)
        hours = breakeven_hours(once, saved)
        reason = f"{moved}, and the machines beside it cost no more"
        if hours is not None:
            reason = f"{moved} and saves {dollars(saved)} an hour: it pays after {hours} hours"
    return replace(candidate, breakeven_hours=hours, reasons=(*candidate.reasons, reason))


def _names(away: Sequence[egress.Data]) -> str:
    return " and ".join(d.url for d in away)


def notices(job: Job, candidates: Sequence[Candidate], costs: Mapping[str, CloudCosts]) -> list[Notice]:
    """What to say of data whose size or place is not declared though it matters."""
    found = []
    for data in egress.declared(job, costs):
        apart = [c for c in candidates if egress.apart(data, c.offer.cloud, c.offer.region)]
        if data.size_gb is None and apart:
            found.append(
                Notice(
                    code="data_size_unknown",
                    detail=f"{data.url} lies apart from {len(apart)} candidates, and without its size the price of "
                    "moving it is not in their bill: declare its size",
                )
            )
        if data.region is None and any(c.offer.cloud == data.cloud for c in candidates):
            found.append(
                Notice(
                    code="data_region_unknown",
                    detail=f"{data.url} is taken to lie in the region of each candidate on {data.cloud}: "
                    "declare its region",
                )
            )
    return found
