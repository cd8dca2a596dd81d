from __future__ import annotations

from pathlib import Path

import pytest

from trainrig.errors import ConfigureFailed
from trainrig.lifecycle.verify import _drift, require, store, stored
from trainrig.model.evidence import Evidence, NodeCheck, NodeEvidence


def evidence(status: str = "fail") -> Evidence:
    check = NodeCheck(name="disk", status=status, detail="0.1 GB free")  # type: ignore[arg-type]
    node = NodeEvidence(node="tr-hello-0", rank=0, checks=(check,), facts={"kernel": "6.8"})
    return Evidence(rig="hello-abc", at="2026-01-01T00:00:00Z", nodes=(node,))


def test_evidence_is_kept_with_the_rig_and_read_again(tmp_path: Path) -> None:
    assert stored(tmp_path) is None
    store(tmp_path, evidence())
    assert stored(tmp_path) == evidence()


def test_a_failed_check_is_a_configure_fault_that_names_node_and_check() -> None:
    with pytest.raises(ConfigureFailed, match=r"tr-hello-0: disk: 0\.1 GB free") as caught:
        require(evidence())
    assert caught.value.details["evidence"] == evidence().to_document()


@pytest.mark.parametrize("status", ["pass", "not_applicable"])
def test_only_a_failed_check_stops_a_rig(status: str) -> None:
    require(evidence(status))


def test_drift_names_what_moved_on_that_node_alone() -> None:
    changed = [("a", "job : Lay down the files (/etc/x)"), ("b", "base : Hold kernel packages")]
    assert _drift("a", changed).detail == "moved away from its roles: job : Lay down the files (/etc/x)"
    assert _drift("c", changed).status == "pass"
