"""The one sticky comment of a plan on a pull or merge request: its text, its hidden marker, and when to write it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Literal

from trainrig.model.plan import Plan
from trainrig.reports.plan_diff import TOLERANCE_PERCENT, Change, PlanDiff
from trainrig.reports.plan_kinds import GROUPS, REST
from trainrig.reports.plan_markdown import Section, code, sections

GITHUB_LIMIT = 65_000  # characters; GitHub takes 65,535
GITLAB_LIMIT = 1_000_000
State = Literal["planned", "applied", "failed", "destroyed", "expired"]
_SAID: Mapping[State, str] = {
    "planned": "waits for approval",
    "applied": "**applied**: the rig is up",
    "failed": "**failed**: see the log of the run; `trainrig status` and `destroy` tell what is left",
    "destroyed": "**destroyed**: nothing is left",
    "expired": "**expired**: plan again before it is applied",
}
_LEASE_OVER = "**expired**: its lease is over; unless that was extended, nothing is left"
_FOLLOWS = {REST, "Values", "Files"}  # from what stands before them in a comparison
_GIVEN = "Given"  # the values of a root that decide by themselves, also where no provider was asked for rights
_DECIDE = {
    *("ssh_ingress_cidrs", "checkpoint_prefix", "read_write_urls", "read_only_urls", "lease_seconds"),
    *("ecr_repository_arn", "artifact_repository", "container_registry", "registry_resource_group"),
    *("storage_resource_group", "data_resource_group"),
}
_APPROVAL = "Once approved, "
_CUT = "> **Cut: this text cannot be approved.** The whole plan is in the run's summary and artefacts."
_MARKER = re.compile(r"^<!-- trainrig (\{.*\}) -->$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Marker:
    """What the comment knows of itself. `key`: one comment a repository, rig and label. `at`: when the plan was made;
    an older run never overwrites a newer comment. `told`: a digest of all that is said but prices. `until`: when the
    plan can be applied no more, or the lease of its rig is over at the latest."""

    key: str
    at: str
    state: State
    digest: str
    told: str
    expected_usd: str
    ceiling_hour_usd: str
    cut: bool
    run_id: str = ""
    until: str = ""

    def line(self) -> str:
        text = json.dumps(asdict(self), sort_keys=True).replace("<", "\\u003c").replace(">", "\\u003e")
        return f"<!-- trainrig {text} -->"


@dataclass(frozen=True, kw_only=True, slots=True)
class Comment:
    marker: Marker
    body: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Write:
    """`id` None: a new comment; `why` is set when nothing is written."""

    id: str | None = None
    why: str | None = None


def comment(
    plan: Plan,
    *,
    key: str,
    at: str,
    state: State = "planned",
    base: PlanDiff | None = None,
    command: str,
    until: str,
    limit: int = GITHUB_LIMIT,
) -> Comment:
    """`base` is what differs from the plan of the base branch, `command` applies this one, `at` is when it was made,
    `until` how long it can be applied, or its rig lives."""
    head, *rest = sections(plan)
    shown = [_headline(plan, state, until), head, *(_delta(base) if base else []), *rest]
    approval = f"{_APPROVAL}`{command}` applies this and nothing else." if state == "planned" else ""
    body, cut = _fit(shown, approval, limit - 2_000)
    findings = [[f.code, f.detail] for f in plan.findings]
    told = json.dumps([plan.digest, plan.offline, plan.unknown, findings, state, cut])
    marker = Marker(
        key=key,
        at=at,
        state=state,
        digest=plan.digest,
        told=hashlib.sha256(told.encode()).hexdigest(),
        expected_usd=str(plan.chosen.expected_cost_usd),
        ceiling_hour_usd=str(plan.ceiling_hour_usd),
        cut=cut,
        run_id=plan.identity.run_id,
        until=until,
    )
    return Comment(marker=marker, body=f"{marker.line()}\n{body}\n")


def settled(body: str, *, state: State, at: str) -> str:
    """A comment that is there, with another final state and all else as it is; its plan need not be at hand."""
    old = read(body)
    assert old is not None, "only of our own comments"
    marker = replace(old, state=state, at=at, told="")
    said = _LEASE_OVER if state == "expired" and old.state == "applied" else _SAID[state]
    _, _headline, *rest = body.split("\n")
    kept = [line for line in rest if not line.startswith(_APPROVAL)]
    return "\n".join([marker.line(), _opening(old.key.partition("/")[0], said), *kept])


def over(marker: Marker, now: str) -> bool:
    """Whether what a comment says is past its time."""
    return marker.state in {"planned", "applied"} and "" < marker.until <= now


def decide(new: Marker, existing: Iterable[tuple[str, str]]) -> Write:
    """What to do with the comments that are there, as `(id, body)`."""
    for id_, body in existing:
        old = read(body)
        if old is None or old.key != new.key:
            continue
        if old.at > new.at:
            return Write(id=id_, why=f"a newer plan, of {old.at}, is shown already")
        if (
            old.told == new.told
            and not over(old, new.at)
            and _near(old.expected_usd, new.expected_usd)
            and _near(old.ceiling_hour_usd, new.ceiling_hour_usd)
        ):
            return Write(id=id_, why="nothing has changed but prices, by less than a tenth")
        return Write(id=id_)
    return Write()


def read(body: str) -> Marker | None:
    found = _MARKER.search(body)
    try:
        return Marker(**json.loads(found[1])) if found else None
    except (ValueError, TypeError):
        return None


def _near(old: str, new: str) -> bool:
    a, b = Decimal(old), Decimal(new)
    return abs(a - b) * 100 <= TOLERANCE_PERCENT * a


def _headline(plan: Plan, state: State, until: str) -> Section:
    run = f" Run id `{plan.identity.run_id}`." if state in {"applied", "failed"} else ""
    lives = f", until {until} at the latest" if state == "applied" else ""
    return Section(title="", lines=(f"{_opening(plan.identity.name, _SAID[state] + lives)}{run}",))


def _opening(name: str, said: str) -> str:
    return f"trainrig plan of {code(name)}: {said}."


def _delta(base: PlanDiff) -> list[Section]:
    """What decides, and folded what follows from it."""
    first: list[str] = []
    then: list[str] = []
    for name, changes in base.sections.items():
        for group, some in _by_group(name, changes).items():
            (then if group in _FOLLOWS else first).extend(f"* {line}" for line in _lines(group, some))
    found = [
        Section(
            title="Against the base branch", lines=tuple(first or ["nothing that decides differs"]), rows=len(first)
        )
    ]
    if then:
        title = f"Against the base branch, {len(then)} more: machines, values and files"
        found.append(Section(title=title, lines=tuple(then), folds=True, rows=len(then)))
    return found


def _by_group(name: str, changes: Iterable[Change]) -> dict[str, list[Change]]:
    """The changes of a section; of resources by what they are: rights, network, the rest."""
    found: dict[str, list[Change]] = {}
    for what, old, new in changes:
        group, colon, address = what.partition(": ")
        key, shown = (group, address) if name == "Resources" and colon else (name, what)
        key = _GIVEN if key == "Values" and what in _DECIDE else key
        found.setdefault(key, []).append((shown, old, new))
    return found


def _lines(name: str, changes: Iterable[Change]) -> Iterator[str]:
    """A line for what is another; what came or went in one line where it is of one kind, as fallbacks and resources."""
    alike: dict[tuple[str, str], list[str]] = {}
    for what, old, new in changes:
        sign = "+" if old is None else "-" if new is None else "~"
        value = old if new is None else new
        if sign != "~" and what == "fallback":
            alike.setdefault((sign, what), []).append(code(value or ""))
        elif sign != "~" and name in GROUPS and value in {"create", "update", "delete"}:
            alike.setdefault((sign, value), []).append(code(what))
        else:
            yield f"{name} {sign} {code(what)}: {' -> '.join(code(v) for v in (old, new) if v)}"
    for (sign, kind), items in alike.items():
        yield f"{name} {sign} {kind} {', '.join(items)}"


def _fit(shown: Sequence[Section], approval: str, limit: int) -> tuple[str, bool]:
    """Whole sections, or a line that says what was left out: first folded ones nobody needs, then folded ones, then the
    longest. Text that lost something vital cannot be approved."""
    texts = [section.text() for section in shown]
    order = sorted(range(len(shown)), key=lambda i: (shown[i].vital, not shown[i].folds, -len(texts[i])))
    cut = False
    for i in order:
        if sum(map(len, texts)) <= limit:
            break
        title = shown[i].title or "a part"
        texts[i] = f"> left out for want of room: {title[:200]}\n"
        cut = cut or shown[i].vital
    end = _CUT if cut else approval
    return "\n".join([*texts, end])[:limit], cut
