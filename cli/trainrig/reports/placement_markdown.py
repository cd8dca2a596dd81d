"""A placement as Markdown, for pull requests and files."""

from __future__ import annotations

from collections import Counter

from trainrig.model.money import dollars
from trainrig.model.placement import Placement, RejectionCode
from trainrig.reports.placement_text import FALLBACKS_SHOWN, PARTS, placed_in, price, what
from trainrig.reports.table import Row
from trainrig.reports.table import markdown as table


def markdown(placement: Placement) -> str:
    return "\n".join([*_chosen(placement), *_fallbacks(placement), *_rejections(placement), *_warnings(placement)])


def _chosen(placement: Placement) -> list[str]:
    c = placement.chosen
    if c is None:
        return [f"### {placement.job}: no offer fits", ""]
    rows: list[Row] = [("part", "USD"), *((name, dollars(getattr(c.parts, field))) for name, field in PARTS)]
    rows.append(("**total**", f"**{dollars(c.expected_cost_usd)}**"))
    return [
        f"### {placement.job}: {what(c)} on {placed_in(c)}",
        "",
        f"{c.offer.market.value}, {price(c.offer)} USD a node and hour, {c.expected_hours:.1f} hours expected",
        "",
        *table(rows),
        "",
        *(f"* {reason}" for reason in c.reasons),
        "",
    ]


def _fallbacks(placement: Placement) -> list[str]:
    if not placement.fallbacks:
        return []
    rows: list[Row] = [("", "where", "machine", "market", "USD/h", "hours", "expected")]
    rows += [
        (
            str(i),
            placed_in(c),
            what(c),
            c.offer.market.value,
            price(c.offer),
            f"{c.expected_hours:.1f}",
            dollars(c.expected_cost_usd),
        )
        for i, c in enumerate(placement.fallbacks[:FALLBACKS_SHOWN], 1)
    ]
    more = len(placement.fallbacks) - FALLBACKS_SHOWN
    return ["If that cannot be had, in this order:", "", *table(rows), *([f"and {more} more"] if more > 0 else []), ""]


def _rejections(placement: Placement) -> list[str]:
    counts: Counter[RejectionCode] = Counter(placement.counted)
    counts.update(r.code for r in placement.rejections)
    if not counts:
        return []
    rows: list[Row] = [("offers", "rejected for")]
    rows += [(f"{n:,}", f"`{code.value}`") for code, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    return [
        f"<details><summary>{sum(counts.values()):,} offers rejected</summary>",
        "",
        *table(rows),
        "",
        "</details>",
        "",
    ]


def _warnings(placement: Placement) -> list[str]:
    return [f"> * **{w.code}**: {w.detail}" for w in placement.warnings]
