"""The `trainrig.destroy/1` document: what became of everything that a rig had. Schema: data/schemas/destroy-1.json."""

from __future__ import annotations

from typing import Any

from trainrig.model.clock import iso
from trainrig.model.proof import Proof

SCHEMA = "trainrig.destroy/1"


def to_document(proof: Proof) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "rig": proof.rig,
        "run_id": proof.run_id,
        "resources": [
            {
                "type": f.type,
                "id": f.id,
                "gone": f.gone,
                "seen_gone_at": None if f.seen_gone_at is None else iso(f.seen_gone_at),
                "how": f.how,
                "detail": f.detail,
            }
            for f in proof.fates
        ],
        "doubts": list(proof.doubts),
        "clean": proof.clean,
    }
