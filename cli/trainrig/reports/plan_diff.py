"""What differs between two plans of a job, as a reviewer reads it: place, money, pins, rights, resources, files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from trainrig.model.rig import digest_of
from trainrig.reports.plan_kinds import GROUPS, allows, group_of_type, statements, telling_values
from trainrig.reports.table import Row, table
from trainrig.reports.table import markdown as markdown_table

SCHEMA = "trainrig.plan_diff/1"
TOLERANCE_PERCENT = Decimal(10)  # amounts of money that move by no more do not change what was reviewed
_ORDER_SHOWN = 3
_IN_VALUES = {"may write to", "SSH from"}  # shown there, without the run id
LONGEST_VALUE = 120
Change = tuple[str, str | None, str | None]  # what, before, after; None: it was not, or is not any more


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanDiff:
    """`costs` lists amounts of money that moved by more than the tolerance."""

    job: str
    place: tuple[Change, ...]
    costs: tuple[Change, ...]
    work: tuple[Change, ...]  # what the job does; scripts line by line
    pins: tuple[Change, ...]
    resources: tuple[Change, ...]  # "Rights: module.rig..." and its actions, or a value of it
    findings: tuple[Change, ...]
    values: tuple[Change, ...]  # of terraform.tfvars.json
    files: tuple[Change, ...]  # of the rest of the root, by digest

    @property
    def sections(self) -> dict[str, tuple[Change, ...]]:
        """In the order in which they are read."""
        return {
            "Place": self.place,
            "Cost": self.costs,
            "Work": self.work,
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
        place=_places(old, new),
        costs=_moved(_costs(old), _costs(new), tolerance_percent),
        work=_work(old.get("work", {}), new.get("work", {})),
        pins=_changes(old["pins"], new["pins"]),
        resources=_resources(old, new),
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


def _places(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    """The chosen candidate, the nodes, and the fallbacks in their order: apply goes to no other place."""
    (chosen, before), (chosen_now, after) = _listed(old), _listed(new)
    found = [*_changes(chosen, chosen_now)]
    found += [("fallback", place, None) for place in before if place not in after]
    found += [("fallback", None, place) for place in after if place not in before]
    kept, kept_now = ([p for p in one if p in other] for one, other in ((before, after), (after, before)))
    if kept != kept_now:
        first = next(i for i, (a, b) in enumerate(zip(kept, kept_now, strict=False)) if a != b)
        was, now = (
            (*one[first : first + _ORDER_SHOWN], *["..."][: len(one) > first + _ORDER_SHOWN])
            for one in (kept, kept_now)
        )
        found.append((f"order of fallbacks, from {first + 1}", ", ".join(was), ", ".join(now)))
    return tuple(found)


def _listed(plan: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What is chosen, and the places of the fallbacks."""
    chosen = plan["chosen"]
    if not chosen:
        return {}, []
    return {"chosen": _place(chosen), "nodes": chosen["nodes"]}, [_place(c) for c in plan["fallbacks"]]


def _place(candidate: Mapping[str, Any]) -> str:
    """`aws/us-east-1/use1-az6 p4d.24xlarge A100:8 spot`"""
    where = "/".join(str(candidate[k]) for k in ("cloud", "region", "zone") if candidate.get(k))
    gpus = f"{candidate['gpu']}:{candidate['gpu_count']}" if candidate.get("gpu") else None
    return " ".join(filter(None, (where, candidate["instance_type"], gpus, candidate.get("market"))))


def _work(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[Change, ...]:
    """Of a script the lines that differ, else the whole of a value."""
    found: list[Change] = []
    for what, before, after in _changes(old, new):
        if what in _IN_VALUES:
            continue
        if before is None or after is None or "\n" not in before + after:
            found.append((what, before, after))
            continue
        lines, lines_now = before.splitlines(), after.splitlines()
        for tag, a, b, c, d in SequenceMatcher(None, lines, lines_now, autojunk=False).get_opcodes():
            if tag != "equal":
                pairs = zip_longest(lines[a:b], lines_now[c:d])
                found += [(f"{what}, line {c + 1 + n}", was, now) for n, (was, now) in enumerate(pairs)]
    return tuple(found)


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


def _resources(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    """Rights and ways in first: what is made or not any more, and of what stays the values that decide, where both
    plans know them."""
    before, after = ({r["address"]: r for r in plan["resource_changes"]} for plan in (old, new))
    found: list[tuple[int, Change]] = []
    for address in [*before, *(a for a in after if a not in before)]:
        was, now = before.get(address), after.get(address)
        group = group_of_type((was or now or {})["type"])
        what = f"{group}: {address}"
        changes = _changes(_actions(what, was), _actions(what, now))
        if was and now and was.get("values") and now.get("values"):
            changes += _changes(_decisive(what, was["values"]), _decisive(what, now["values"]))
        found += [(GROUPS.index(group), change) for change in changes]
    return tuple(change for _, change in sorted(found, key=lambda item: (item[0], item[1][0])))


def _actions(what: str, resource: Mapping[str, Any] | None) -> dict[str, str]:
    return {} if resource is None else {what: ", ".join(resource["actions"])}


def _decisive(what: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Of a policy each statement by itself."""
    found: dict[str, str] = {}
    for name, text in telling_values(values).items():
        many = statements(values[name])
        found |= {f"{what} {name} {one.get('Sid', number)}": allows(one) for number, one in enumerate(many, 1)}
        if not many:
            found[f"{what} {name}"] = text
    return found


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
