"""Evidence: what was checked on a rig's nodes, and what came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SCHEMA = "trainrig.evidence/1"
Status = Literal["pass", "fail", "not_applicable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeCheck:
    """One check of one node. A check that could not be made because there is nothing to check is `not_applicable`,
    never `pass`; one that could not be made though it should have been is `fail`."""

    name: str
    status: Status
    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeEvidence:
    node: str
    rank: int
    checks: tuple[NodeCheck, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)  # as the node told them

    @property
    def failures(self) -> tuple[NodeCheck, ...]:
        return tuple(c for c in self.checks if c.status == "fail")


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    rig: str
    at: str  # ISO 8601, UTC
    nodes: tuple[NodeEvidence, ...]

    @property
    def passed(self) -> bool:
        return not any(n.failures for n in self.nodes)

    def to_document(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "rig": self.rig,
            "at": self.at,
            "passed": self.passed,
            "nodes": [
                {
                    "node": n.node,
                    "rank": n.rank,
                    "checks": [{"name": c.name, "status": c.status, "detail": c.detail} for c in n.checks],
                    "facts": dict(n.facts),
                }
                for n in self.nodes
            ],
        }
