from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import pytest

from support.jobs import a_job, a_node, an_offer
from trainrig.errors import ConfigureFailed, RigBusy
from trainrig.lifecycle import verify as verifying
from trainrig.lifecycle.verify import _document, _drift, _skew, require, store, stored
from trainrig.model.events import silent
from trainrig.model.evidence import Evidence, NodeCheck, NodeEvidence
from trainrig.model.process import Outcome
from trainrig.store import locks
from trainrig.tools import ansible
from trainrig.tools.ssh import Ssh


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


@pytest.mark.parametrize(("theirs", "skew"), [(101.0, 0.0), (99.5, -0.5), (109.0, 5.0)])
def test_a_clock_is_wrong_only_by_what_the_answers_time_does_not_explain(
    theirs: float, skew: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([100.0, 104.0])
    answer = Outcome(returncode=0, stdout=f"{theirs}\n", stderr="", seconds=4)
    monkeypatch.setattr("time.time", lambda: next(clock))
    monkeypatch.setattr(Ssh, "run", lambda *_args, **_options: answer)
    assert _skew(Ssh(rig=Path("/rig"), nodes=()), a_node()) == skew


def test_drift_names_what_moved_on_that_node_alone() -> None:
    changed = [("a", "job : Lay down the files (/etc/x)"), ("b", "base : Hold kernel packages")]
    assert _drift("a", changed).detail == "moved away from its roles: job : Lay down the files (/etc/x)"
    assert _drift("c", changed).status == "pass"


def test_a_probe_that_was_changed_by_hand_fails_with_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Outcome(returncode=0, stdout="hello\n", stderr="", seconds=1)
    monkeypatch.setattr(Ssh, "run", lambda *_args, **_options: answer)
    document = _document(Ssh(rig=Path("/rig"), nodes=()), a_node(), ["/lib/probe"])
    assert document["error"] == "/lib/probe does not say what it should: hello"


def test_roles_are_compared_by_one_at_a_time_and_not_where_a_run_converges(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def play(*_: object, directory: Path, check: bool, **__: Any) -> ansible.Recap:
        assert (directory, check) == (tmp_path / "ansible-check", True)
        return ansible.Recap(log=directory / "log")

    monkeypatch.setattr(ansible, "run_playbook", play)
    monkeypatch.setattr(verifying, "accept", lambda *_, **__: evidence("pass"))
    monkeypatch.setattr(verifying, "OTHER_VERIFY_SECONDS", 0.1)
    ssh = Ssh(rig=tmp_path, nodes=(a_node(),))

    def verify() -> Evidence:
        return verifying.verify(ssh, a_job(), an_offer(), "image", silent)

    (tmp_path / "ansible-check").mkdir()
    with (tmp_path / "ansible-check" / locks.LOCK).open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(RigBusy):
            verify()
    assert verify() == stored(tmp_path)
