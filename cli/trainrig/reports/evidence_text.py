"""Evidence as people read it: one line a check, failures marked."""

from __future__ import annotations

from trainrig.model.evidence import Evidence

_MARK = {"pass": "ok", "fail": "FAIL", "not_applicable": "-"}


def text(evidence: Evidence) -> str:
    """A block a node; where all nodes agree on a check, that is seen at a glance by its column."""
    lines = []
    for node in evidence.nodes:
        lines.append(f"{node.node} (rank {node.rank})")
        lines += [f"  {_MARK[c.status]:<4}  {c.name:<11}  {c.detail}" for c in node.checks]
    return "\n".join(lines)
