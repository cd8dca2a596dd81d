"""A placement for people: what is chosen and what it comes to, what is tried next, why everything else was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trainrig.model.money import dollars
from trainrig.model.offer import Offer
from trainrig.model.placement import Candidate, Placement, Rejection, RejectionCode
from trainrig.reports.table import Row, table

FALLBACKS_SHOWN = 10
PARTS = (
    ("compute", "compute_usd"),
    ("boot and configure", "setup_usd"),
    ("lost work and restarts", "lost_work_usd"),
    ("disk", "disk_usd"),
    ("public addresses", "network_usd"),
    ("egress", "egress_usd"),
)


def text(placement: Placement, each_rejection: Sequence[Rejection] = ()) -> str:
    """`each_rejection`: the rejections to list one by one, instead of their number by reason."""
    rejections = _each_rejection(each_rejection) if each_rejection else _rejections(placement)
    return "\n".join(
        [
            *_chosen(placement),
            *_fallbacks(placement),
            *rejections,
            *_warnings(placement),
            _catalog(placement),
        ]
    )


def _chosen(placement: Placement) -> list[str]:
    c = placement.chosen
    if c is None:
        return [f"{placement.job}: no offer fits", ""]
    lines = [
        f"{placement.job}: {placed_in(c)} {what(c)}",
        f"  {price(c.offer)} USD a node and hour, {c.offer.market.value}",
        f"  {dollars(c.expected_cost_usd)} expected over {c.expected_hours:.1f} hours",
        "",
        *(f"  {name:<24}{dollars(getattr(c.parts, field)):>12}" for name, field in PARTS),
        f"  {'total':<24}{dollars(c.expected_cost_usd):>12}",
        "",
        *(f"  {reason}" for reason in c.reasons),
    ]
    return [*lines, ""] if c.reasons else lines


def _fallbacks(placement: Placement) -> list[str]:
    if not placement.fallbacks:
        return []
    shown = placement.fallbacks[:FALLBACKS_SHOWN]
    rows: list[Row] = [("", "where", "machine", "market", "USD/h", "hours", "expected", "pays after")]
    for i, c in enumerate(shown, 1):
        pays = "" if c.breakeven_hours is None else f"{c.breakeven_hours} h"
        rows.append(
            (
                str(i),
                placed_in(c),
                what(c),
                c.offer.market.value,
                price(c.offer),
                f"{c.expected_hours:.1f}",
                dollars(c.expected_cost_usd),
                pays,
            )
        )
    more = len(placement.fallbacks) - len(shown)
    return ["If that cannot be had, in this order:", *table(rows), *([f"  and {more} more"] if more else []), ""]


def _rejections(placement: Placement) -> list[str]:
    counts: Counter[RejectionCode] = Counter(placement.counted)
    examples: dict[RejectionCode, str] = {}
    for r in placement.rejections:
        counts[r.code] += 1
        examples.setdefault(r.code, f"{where(r.offer)} {r.offer.instance_type}: {r.detail}")
    if not counts:
        return []
    rows: list[Row] = [("offers", "rejected for", "for example")]
    most_first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rows += [(f"{n:,}", code.value, examples.get(code, "")) for code, n in most_first]
    return ["Not these (--rejected lists each):", *table(rows), ""]


def _each_rejection(rejections: Sequence[Rejection]) -> list[str]:
    rows: list[Row] = [("rejected for", "where", "machine", "GPUs", "market", "USD/h", "why")]
    rows += [
        (
            r.code.value,
            where(r.offer),
            r.offer.instance_type,
            f"{r.offer.gpu}:{r.offer.gpu_count}" if r.offer.gpu else "-",
            r.offer.market.value,
            price(r.offer),
            r.detail,
        )
        for r in rejections
    ]
    return ["Not these:", *table(rows), ""]


def _warnings(placement: Placement) -> list[str]:
    return [*(f"warning: {w.detail} [{w.code}]" for w in placement.warnings), *([""] if placement.warnings else [])]


def _catalog(placement: Placement) -> str:
    stamp = placement.catalog
    age = "" if stamp.age_hours is None else f", oldest price {stamp.age_hours / 24:.0f} days old"
    return f"{stamp.offers:,} offers considered{age}; catalogue {stamp.digest[:19]}"


def where(offer: Offer) -> str:
    return "/".join(filter(None, (offer.cloud, offer.region, offer.zone)))


def placed_in(c: Candidate) -> str:
    """The place, with the account where the cloud has several."""
    return f"{where(c.offer)} ({c.account})" if c.account else where(c.offer)


def what(c: Candidate) -> str:
    gpus = f" ({c.offer.gpu}:{c.offer.gpu_count})" if c.offer.gpu else ""
    return f"{f'{c.nodes} x ' if c.nodes > 1 else ''}{c.offer.instance_type}{gpus}"


def price(offer: Offer) -> str:
    return "-" if offer.price_hour_usd is None else f"{offer.price_hour_usd:.4f}"
