"""A plan as Markdown, in the order in which a reviewer decides: what and where, what it costs, rights and ways in,
everything else. Texts of users and clouds stand in code, where Markdown means nothing."""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass

from trainrig.model.clock import iso
from trainrig.model.money import dollars
from trainrig.model.placement import RejectionCode
from trainrig.model.plan import Plan, PlannedResource
from trainrig.reports.placement_text import FALLBACKS_SHOWN, PARTS, price, what, where
from trainrig.reports.plan_kinds import NETWORK, RIGHTS, ceiling, grouped, judged, telling
from trainrig.reports.table import Row
from trainrig.reports.table import markdown as table

ROWS_SHOWN = 15  # of settings, and lines of a script; more are folded


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """`folds`: shown folded, and the first to go when there is no room. `vital`: nobody can approve without it. `rows`:
    what it holds, for the note that stands in its place then."""

    title: str
    lines: tuple[str, ...]
    folds: bool = False
    vital: bool = True
    rows: int = 0

    def text(self) -> str:
        if not self.folds:
            return (
                "\n".join([f"#### {self.title}", "", *self.lines, ""]) if self.title else "\n".join([*self.lines, ""])
            )
        summary = f"<details><summary>{self.title}</summary>"
        return "\n".join([summary, "", *self.lines, "", "</details>", ""])


def markdown(plan: Plan) -> str:
    return "\n".join(section.text() for section in sections(plan)).rstrip()


def sections(plan: Plan) -> list[Section]:
    found = [_head(plan), _fallbacks(plan), _cost(plan), _attention(plan), _policy(plan), *_work(plan)]
    found += _resources(plan)
    found += [_pins(plan), _rejections(plan), _foot(plan)]
    return [section for section in found if section.lines]


def code(text: str) -> str:
    """Text that is nobody's Markdown."""
    clean = " ".join(text.split())
    fence = "`" * (max((len(run) for run in re.findall(r"`+", clean)), default=0) + 1)
    return f"{fence}{clean}{fence}" if fence == "`" else f"{fence} {clean} {fence}"


def plain(text: str) -> str:
    """Text in a sentence, in which nothing is a tag, a link, a picture, a mention or emphasis."""
    return re.sub(r"[\\`*_\[\]!|~]", r"\\\g<0>", html.escape(text, quote=False)).replace("@", "&#64;")


def _head(plan: Plan) -> Section:
    c = plan.chosen
    changes = ", ".join(f"{n} to {verb}" for verb, n in plan.counts.items())
    price_line = (
        f"**{c.offer.market.value}**, {price(c.offer)} USD a node and hour, {c.expected_hours:.1f} hours expected"
    )
    lines = [
        f"### {code(plan.identity.name)}: {plain(what(c))} on {plain(where(c.offer))}",
        "",
        f"{price_line}, **{dollars(c.expected_cost_usd)}** in all. Terraform: **{changes}**.",
        "",
        *(f"* {plain(reason)}" for reason in c.reasons),
        *([""] if plan.placement.warnings else []),
        *(f"> * **{w.code}**: {plain(w.detail)}" for w in plan.placement.warnings),
    ]
    return Section(title="", lines=tuple(lines))


def _fallbacks(plan: Plan) -> Section:
    shown = plan.placement.fallbacks
    if not shown:
        return Section(title="Fallbacks", lines=("None: if this offer cannot be had, there will be no rig.",))
    rows: list[Row] = [("", "where", "machine", "market", "USD/h", "expected")]
    rows += [
        (str(i), where(c.offer), what(c), c.offer.market.value, price(c.offer), dollars(c.expected_cost_usd))
        for i, c in enumerate(shown, 1)
    ]
    title = f"If that cannot be had: {len(shown)} fallbacks, in this order and no other"
    return Section(title=title, lines=tuple(table(rows)), folds=len(shown) > FALLBACKS_SHOWN, rows=len(shown))


def _cost(plan: Plan) -> Section:
    c = plan.chosen
    rows: list[Row] = [("part", "USD"), *((name, dollars(getattr(c.parts, field))) for name, field in PARTS)]
    rows.append(("**total**", f"**{dollars(c.expected_cost_usd)}**"))
    lines = [*table(rows), "", ceiling(plan)]
    if c.breakeven_hours is not None:
        lines.append(f"Moving the data there pays after {c.breakeven_hours} hours.")
    return Section(title="Cost", lines=tuple(lines))


def _attention(plan: Plan) -> Section:
    lines = [
        *(f"* **{f.code}**{f' {code(f.address)}' if f.address else ''}: {plain(f.detail)}" for f in plan.findings),
        *(f"* not known: {plain(unknown)}" for unknown in plan.unknown),
    ]
    return Section(title="Look at", lines=tuple(lines))


def _policy(plan: Plan) -> Section:
    return Section(title="Policy", lines=tuple(f"* {plain(line)}" for line in judged(plan)))


def _work(plan: Plan) -> list[Section]:
    """Short values in a table, scripts as they are written."""
    short = {name: value for name, value in plan.work.items() if "\n" not in value}
    rows: list[Row] = [("setting", "value"), *((plain(name), code(value)) for name, value in short.items())]
    found = [
        Section(
            title=f"What the job does: {len(short)} settings" if len(short) > ROWS_SHOWN else "What the job does",
            lines=tuple(table(rows)) if short else (),
            folds=len(short) > ROWS_SHOWN,
            rows=len(short),
        )
    ]
    for name, script in plan.work.items():
        if name not in short:
            lines = script.splitlines()
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", script)), default=0))
            title = f"The job's {plain(name)}, {len(lines)} lines"
            shown = (f"{fence}sh", *lines, fence)
            found.append(Section(title=title, lines=shown, folds=len(lines) > ROWS_SHOWN, rows=len(lines)))
    return found


def _resources(plan: Plan) -> list[Section]:
    found = []
    for group, resources in grouped(plan.resources).items():
        title = f"{group}: {_counted(resources)}"
        if group in {RIGHTS, NETWORK}:
            lines = _told(resources)
            found.append(Section(title=title, lines=tuple(lines), rows=len(resources)))
        else:
            rows: list[Row] = [("action", "resource"), *(("+".join(r.actions), code(r.address)) for r in resources)]
            lines = table(rows) if resources else []
            found.append(Section(title=title, lines=tuple(lines), folds=True, rows=len(resources)))
    return found


def _counted(resources: list[PlannedResource]) -> str:
    kinds = Counter(r.type for r in resources)
    return ", ".join(f"{n} {type_}" for type_, n in sorted(kinds.items())) or "nothing"


def _told(resources: list[PlannedResource]) -> list[str]:
    """A line for each whose values decide something; the others together, an action a line."""
    lines: list[str] = []
    others: dict[str, list[str]] = {}
    for r in resources:
        action, values = "+".join(r.actions), telling(r)
        if values:
            lines.append(f"* {action} {code(r.address)}: {'; '.join(f'{k} {code(v)}' for k, v in values.items())}")
        else:
            others.setdefault(action, []).append(code(r.address))
    return lines + [f"* {action} {', '.join(addresses)}" for action, addresses in others.items()]


def _pins(plan: Plan) -> Section:
    rows: list[Row] = [("pinned", "to"), *((name, code(value)) for name, value in sorted(plan.pins.items()))]
    return Section(title="Pins", lines=tuple(table(rows)) if plan.pins else ())


def _rejections(plan: Plan) -> Section:
    counts: Counter[RejectionCode] = Counter(plan.placement.counted)
    counts.update(r.code for r in plan.placement.rejections)
    rows: list[Row] = [("offers", "rejected for")]
    rows += [(f"{n:,}", f"`{reason}`") for reason, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    title = f"{sum(counts.values()):,} other offers were rejected"
    return Section(title=title, lines=tuple(table(rows)) if counts else (), folds=True, vital=False, rows=len(counts))


def _foot(plan: Plan) -> Section:
    age = plan.placement.catalog.age_hours
    prices = "" if age is None else f" Oldest price: {age / 24:.0f} days."
    kind = "worked out offline" if plan.offline else "planned by Terraform"
    until = f"The plan's folder can be applied until {iso(plan.expires_at)}."
    return Section(title="", lines=(f"Resources {kind}.{prices} {until} Plan digest: `{plan.digest}`",))
