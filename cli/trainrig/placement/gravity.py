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
    home = _home_hour_usd(candidates, data)
    return [_told(c, data, home) for c in candidates]


def _apart(candidate: Candidate, data: Sequence[egress.Data]) -> bool:
    return any(egress.apart(d, candidate.offer.cloud, candidate.offer.region) for d in data)


def _home_hour_usd(candidates: Sequence[Candidate], data: Sequence[egress.Data]) -> Decimal | None:
    """The cheapest hour of a whole rig beside the data."""
    return min((hour_usd(c) for c in candidates if not _apart(c, data)), default=None)


def hour_usd(candidate: Candidate) -> Decimal:
    assert candidate.offer.price_hour_usd is not None
    return candidate.offer.price_hour_usd * candidate.nodes


def _told(candidate: Candidate, data: Sequence[egress.Data], home: Decimal | None) -> Candidate:
    if not _apart(candidate, data):
        return candidate
    cost = candidate.parts.egress_usd
    hours = None if home is None else breakeven_hours(cost, home - hour_usd(candidate))
    return replace(candidate, breakeven_hours=hours, reasons=(*candidate.reasons, _line(candidate, cost, home, hours)))


def _line(candidate: Candidate, cost: Decimal, home: Decimal | None, hours: Decimal | None) -> str:
    moved = f"its data lies elsewhere: bringing it costs {dollars(cost)}"
    if home is None:
        return f"{moved}; nothing that fits lies beside the data"
    saved = home - hour_usd(candidate)
    if hours is None:
        return f"{moved}, and the machines beside the data cost no more"
    return f"{moved} and saves {dollars(saved)} an hour: it pays after {hours} hours"


def notices(job: Job, chosen: Candidate, costs: Mapping[str, CloudCosts]) -> list[Notice]:
    """What to say of data that is not beside the chosen machines, or of unknown size or place."""
    found = []
    for data in egress.declared(job, costs):
        if data.size_gb is None and egress.apart(data, chosen.offer.cloud, chosen.offer.region):
            found.append(
                Notice(
                    code="data_size_unknown",
                    detail=f"{data.url} lies on {data.cloud} and its size is not declared (size_gb): "
                    "what moving it costs is not in the figures",
                )
            )
        if data.cloud == chosen.offer.cloud and data.region is None:
            found.append(
                Notice(
                    code="data_region_unknown",
                    detail=f"the region of {data.url} is not declared: taken to be {chosen.offer.region}",
                )
            )
    return found
