"""What differs between two plans of a job, as a reviewer reads it: place, money, pins, rights, resources, files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trainrig.model.rig import digest_of
from trainrig.reports.plan_kinds import GROUPS, group_of_type
from trainrig.reports.table import Row, table
from trainrig.reports.table import markdown as markdown_table

SCHEMA = "trainrig.plan_diff/1"
TOLERANCE_PERCENT = Decimal(10)  # amounts of money that move by no more do not change what was reviewed
# What makes it another machine; a price or an age does not.
_PLACE = ("cloud", "region", "zone", "instance_type", "gpu", "gpu_count", "nodes", "market")
LONGEST_VALUE = 120
Change = tuple[str, str | None, str | None]  # what, before, after; None: it was not, or is not any more


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanDiff:
    """`costs` lists amounts of money that moved by more than the tolerance."""

    job: str
    place: tuple[Change, ...]
    costs: tuple[Change, ...]
    pins: tuple[Change, ...]
    resources: tuple[Change, ...]  # "Rights: module.rig..." and its actions
    findings: tuple[Change, ...]
    values: tuple[Change, ...]  # of terraform.tfvars.json
    files: tuple[Change, ...]  # of the rest of the root, by digest

    @property
    def sections(self) -> dict[str, tuple[Change, ...]]:
        """In the order in which they are read."""
        return {
            "Place": self.place,
            "Cost": self.costs,
            "Pins": self.pins,
            "Resources": self.resources,
            "Findings": self.findings,
            "Values": self.values,
            "Files": self.files,
        }

    @property
    def same(self) -> bool:
        return not any(self.sections.values())


def compare(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    *,
    roots: tuple[Mapping[str, str], Mapping[str, str]],
    tolerance_percent: Decimal,
) -> PlanDiff:
    """Of two `trainrig.plan/1` documents and their roots (path -> text, without what differs from run to run)."""
    values = tuple(_flat(json.loads(root["terraform.tfvars.json"])) for root in roots)
    files = tuple({p: digest_of(t)[7:19] for p, t in root.items() if p != "terraform.tfvars.json"} for root in roots)
    return PlanDiff(
        job=str(new["job"]),
        place=_changes(_place(old), _place(new)),
        costs=_moved(_costs(old), _costs(new), tolerance_percent),
        pins=_changes(old["pins"], new["pins"]),
        resources=_changes(_resources(old), _resources(new)),
        findings=_changes(_findings(old), _findings(new)),
        values=_changes(values[0], values[1]),
        files=_changes(files[0], files[1]),
    )


def to_document(diff: PlanDiff) -> dict[str, Any]:
    listed = {
        name.lower(): [{"what": what, "old": old, "new": new} for what, old, new in changes]
        for name, changes in diff.sections.items()
    }
    return {"schema": SCHEMA, "job": diff.job, "same": diff.same, **listed}


def text(diff: PlanDiff) -> str:
    if diff.same:
        return f"{diff.job}: the two plans are the same"
    lines = [f"{diff.job}: the plans differ"]
    for name, changes in diff.sections.items():
        if changes:
            lines += ["", f"{name}:", *table(_rows(changes))]
    return "\n".join(lines)


def markdown(diff: PlanDiff) -> str:
    if diff.same:
        return f"### `{diff.job}`: the two plans are the same"
    lines = [f"### `{diff.job}`: the plans differ"]
    for name, changes in diff.sections.items():
        if changes:
            lines += ["", f"#### {name}", "", *markdown_table(_rows(changes))]
    return "\n".join(lines)


def _rows(changes: Iterable[Change]) -> list[Row]:
    rows: list[Row] = [("", "what", "old", "new")]
    for what, old, new in changes:
        sign = "+" if old is None else "-" if new is None else "~"
        rows.append((sign, what, old or "", new or ""))
    return rows


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    keys = [*old, *(key for key in new if key not in old)]
    return tuple((key, _word(old.get(key)), _word(new.get(key))) for key in keys if old.get(key) != new.get(key))


def _word(value: Any) -> str | None:
    return None if value is None else str(value)


def _place(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The chosen candidate, and the fallbacks in their order: apply goes to no other place."""
    places = [" ".join(str(c[key]) for key in _PLACE if c.get(key) is not None) for c in _candidates(plan)]
    return {("chosen" if rank == 0 else f"fallback {rank}"): place for rank, place in enumerate(places)}


def _candidates(plan: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [plan["chosen"], *plan["fallbacks"]] if plan["chosen"] else []


def _costs(plan: Mapping[str, Any]) -> dict[str, Decimal]:
    cost = plan["cost"]
    amounts = {
        "expected": cost["expected_usd"],
        "an hour": cost["rig_hour_usd"],
        "at most an hour": cost["ceiling_hour_usd"],
    }
    return {name: Decimal(amount) for name, amount in amounts.items() if amount is not None}


def _moved(old: Mapping[str, Decimal], new: Mapping[str, Decimal], tolerance_percent: Decimal) -> tuple[Change, ...]:
    found: list[Change] = []
    for name in [*old, *(n for n in new if n not in old)]:
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            found.append((name, _usd(before), _usd(after)))
        elif abs(after - before) * 100 > tolerance_percent * before:
            percent = f" ({(after - before) / before * 100:+.0f} %)" if before else ""
            found.append((name, _usd(before), f"{_usd(after)}{percent}"))
    return tuple(found)


def _usd(amount: Decimal | None) -> str | None:
    return None if amount is None else f"${amount}"


def _resources(plan: Mapping[str, Any]) -> dict[str, str]:
    """Rights and ways in first."""
    changes = sorted(plan["resource_changes"], key=lambda r: (GROUPS.index(group_of_type(r["type"])), r["address"]))
    return {f"{group_of_type(r['type'])}: {r['address']}": ", ".join(r["actions"]) for r in changes}


def _findings(plan: Mapping[str, Any]) -> dict[str, str]:
    return {" ".join(filter(None, (f["code"], f["address"]))): f["detail"] for f in plan["findings"]}


def _flat(value: Any, path: str = "") -> dict[str, str]:
    """`rig.labels.team` -> its value; long ones by their digest."""
    if isinstance(value, dict):
        found: dict[str, str] = {}
        for key, inner in value.items():
            found |= _flat(inner, f"{path}.{key}" if path else key)
        return found
    shown = json.dumps(value, ensure_ascii=False)
    return {path: shown if len(shown) <= LONGEST_VALUE else digest_of(shown)[7:19]}
