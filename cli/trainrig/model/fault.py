"""Fault classes: what an error of a cloud means for the next step."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class FaultClass(StrEnum):
    CAPACITY = "capacity"  # roll back, next candidate; the zone cools down
    QUOTA = "quota"  # roll back, next candidate elsewhere; family and region cool down
    EVENTUAL = "eventual"  # the cloud has not caught up with itself: short retry
    DEPENDENCY = "dependency"  # something still uses it: retry the destroy
    AUTH = "auth"  # stop, name the permission
    CONFIG = "config"  # stop, the request itself is wrong
    UNCLASSIFIED = "unclassified"  # stop, and say that it is not classified


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultRule:
    """`pattern` is searched in the summary and detail of a Terraform diagnostic; the first rule that matches wins. It
    is compiled when it is needed: every verb loads the facts of clouds, and few meet an error of one.

    `meaning` may hold `{name}` for a named group of the pattern: the quota that is used up, the missing permission.
    """

    pattern: str
    fault: FaultClass
    meaning: str


def rule(pattern: str, fault: FaultClass, meaning: str) -> FaultRule:
    return FaultRule(pattern=pattern, fault=fault, meaning=meaning)


def zones_named(text: str, pattern: str | None) -> tuple[str, ...]:
    """The zones in which a stock-out says that the machine can be had, by a cloud's own pattern; often none."""
    found = re.search(pattern, text) if pattern else None
    return tuple(re.findall(r"[\w-]+", found["zones"])) if found else ()


def classify(text: str, rules: tuple[FaultRule, ...]) -> tuple[FaultClass, str]:
    """The class of an error text, and what it means in words."""
    for r in rules:
        found = re.search(r.pattern, text)
        if found:
            return r.fault, r.meaning.format_map(found.groupdict(default=""))
    return FaultClass.UNCLASSIFIED, "trainrig does not know this error"
