"""A plan as one HTML page: no script, no other file, light and dark, readable on a phone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from trainrig.model.clock import iso
from trainrig.model.money import dollars
from trainrig.model.plan import Plan, PlannedResource
from trainrig.reports.placement_text import PARTS, price, what, where
from trainrig.reports.plan_kinds import allows, ceiling, grouped, judged, statements, telling

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { overflow-wrap: normal; white-space: pre-line; }
td:nth-child(2):last-child { overflow-wrap: anywhere; min-width: 8rem; }
details { margin-top: 1.5rem; } pre { font-size: .9em; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
code { font-size: .9em; background: var(--soft); padding: 0 .2em; border-radius: 3px; }
.attention { border-left: 4px solid #c60; padding-left: 1rem; } summary { cursor: pointer; }
"""


def page(plan: Plan) -> str:
    c = plan.chosen
    changes = ", ".join(f"{n} to {verb}" for verb, n in plan.counts.items())
    title = f"{plan.identity.name}: {what(c)} on {where(c.offer)}"
    lead = f"{escape(c.offer.market.value)}, {price(c.offer)} USD a node and hour, {c.expected_hours:.1f} hours"
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{lead}, <strong>{dollars(c.expected_cost_usd)}</strong> expected.</p>",
        f"<p>Terraform: <strong>{changes}</strong>.</p>",
        _list(c.reasons),
        _attention(plan),
        "<h2>Cost</h2>",
        _table(
            ("part", "USD"),
            [
                *((name, dollars(getattr(c.parts, field))) for name, field in PARTS),
                ("total", dollars(c.expected_cost_usd)),
            ],
        ),
        f"<p>{ceiling(plan)}</p>",
        f"<h2>Fallbacks, in this order: {len(plan.placement.fallbacks)}</h2>",
        _table(
            ("where", "machine", "market", "USD/h", "expected"),
            [
                (where(f.offer), what(f), f.offer.market.value, price(f.offer), dollars(f.expected_cost_usd))
                for f in plan.placement.fallbacks
            ],
        ),
        f"<h2>Policy</h2>{_list(judged(plan))}" if plan.policy else "",
        *_work(plan),
        *_resources(plan),
        "<h2>Pins</h2>",
        _table(("pinned", "to"), sorted(plan.pins.items())),
        f"<p>Good until {iso(plan.expires_at)}. Digest <code>{escape(plan.digest)}</code></p>",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n{''.join(body)}\n</body></html>\n"
    )


def _attention(plan: Plan) -> str:
    lines = [f"{w.code}: {w.detail}" for w in plan.placement.warnings]
    lines += [f"{f.code}: {f.address or ''} {f.detail}" for f in plan.findings]
    lines += [f"not known: {what_}" for what_ in plan.unknown]
    return f'<div class="attention">{_list(lines)}</div>' if lines else ""


def _work(plan: Plan) -> Iterable[str]:
    if plan.work:
        yield "<h2>What the job does</h2>"
        yield _table(("setting", "value"), [(what_, value) for what_, value in plan.work.items() if "\n" not in value])
    for what_, script in plan.work.items():
        if "\n" in script:
            yield f"<details open><summary><strong>{escape(what_)}</strong></summary>"
            yield f'<div class="scroll"><pre>{escape(script)}</pre></div></details>'


def _resources(plan: Plan) -> Iterable[str]:
    for group, resources in grouped(plan.resources).items():
        if resources:
            yield f"<details open><summary><strong>{escape(group)}</strong> ({len(resources)})</summary>"
            rows = [("+".join(r.actions), "\n".join([r.address, *_decisive(r)])) for r in resources]
            yield _table(("action", "resource, and the values that decide"), rows)
            yield "</details>"


def _decisive(r: PlannedResource) -> Iterable[str]:
    """A line each, of a policy a line a statement."""
    for name, text in telling(r).items():
        lines = [allows(one) for one in statements((r.values or {})[name])] or [text]
        yield from (f"{name}: {line}" for line in lines)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "<p>None.</p>"
    cells = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    heads = "".join(f"<th>{escape(h)}</th>" for h in head)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table></div>'


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>" if lines else ""
