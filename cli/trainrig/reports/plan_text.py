"""A plan for a terminal."""

from __future__ import annotations

from collections import Counter

from trainrig.model.clock import iso
from trainrig.model.money import dollars
from trainrig.model.plan import Plan
from trainrig.reports import placement_text
from trainrig.reports.plan_kinds import judged
from trainrig.reports.table import Row, table


def text(plan: Plan, folder: str | None) -> str:
    counts = plan.counts
    kinds = Counter((r.actions, r.type) for r in plan.resources)
    rows: list[Row] = [("resources", "type", "action")]
    rows += [(str(n), type_, "+".join(actions)) for (actions, type_), n in sorted(kinds.items())]
    lines = [
        placement_text.text(plan.placement),
        "",
        f"Terraform: {', '.join(f'{n} to {what}' for what, n in counts.items())}",
        *(table(rows) if plan.resources else []),
        "",
        *(f"not known: {what}" for what in plan.unknown),
        *(f"policy: {line}" for line in judged(plan)),
        *(f"look at: {f.detail} [{f.code}]" for f in plan.findings),
        f"at most {dollars(plan.ceiling_hour_usd)} an hour, whichever candidate it will be",
        f"digest {plan.digest}",
    ]
    if folder:
        lines.append(f"written to {folder}; trainrig apply {folder} until {iso(plan.expires_at)}")
    return "\n".join(lines)
