"""The proof of a destroy for people."""

from __future__ import annotations

from trainrig.model.clock import iso
from trainrig.model.proof import Proof
from trainrig.reports.table import Row, table

HOW = {"terraform": "Terraform", "sweep": "sweep by label"}


def text(proof: Proof) -> str:
    if not proof.fates and proof.clean:
        return f"{proof.rig}: nothing is left of run {proof.run_id}; there was nothing to destroy"
    rows: list[Row] = [("resource", "id", "gone", "seen gone at", "by")]
    for f in proof.fates:
        gone_at = iso(f.seen_gone_at) if f.seen_gone_at else ""
        rows.append((f.type, f.id, "yes" if f.gone else "NO", gone_at, HOW[f.how] if f.gone else f.detail))
    if proof.clean:
        verdict = f"{proof.rig}: all {len(proof.fates)} resources of run {proof.run_id} are gone, the cloud was asked"
    else:
        verdict = f"{proof.rig}: run {proof.run_id} may still have something in a cloud, and it may bill"
    return "\n".join([*table(rows), "", *(f"in doubt: {d}" for d in proof.doubts), verdict])
