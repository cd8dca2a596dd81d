"""A plan for a terminal."""

from __future__ import annotations

from collections import Counter

from trainrig.model.clock import iso
from trainrig.model.money import dollars
from trainrig.model.plan import Plan
from trainrig.reports import placement_text
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
        *_policy(plan),
        *(f"look at: {f.detail} [{f.code}]" for f in plan.findings),
        f"at most {dollars(plan.ceiling_hour_usd)} an hour, whichever candidate it will be",
        f"digest {plan.digest}",
    ]
    if folder:
        lines.append(f"written to {folder}; trainrig apply {folder} until {iso(plan.expires_at)}")
    return "\n".join(lines)


def _policy(plan: Plan) -> list[str]:
    """The rules by their codes; docs/review.md has them in words."""
    said = {True: "policy holds", False: "policy is broken", None: "policy, not known without a provider"}
    codes = {holds: [rule.code for rule in plan.policy if rule.holds is holds] for holds in said}
    return [f"{said[holds]}: {', '.join(some)}" for holds, some in codes.items() if some]
