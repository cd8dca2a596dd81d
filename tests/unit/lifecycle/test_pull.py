from __future__ import annotations

from pathlib import Path

import pytest

from support import rigs
from trainrig.lifecycle import collect, pull
from trainrig.store.journal import AttemptState
from trainrig.tools.ssh import Ssh


def test_what_the_process_of_the_run_is_sending_goes_on(
    monkeypatch: pytest.MonkeyPatch, isolated: Path, tmp_path: Path
) -> None:
    """Both have a share in the connections to the nodes."""
    run = rigs.run()
    with run.opened() as context:
        attempt = context.journal.start_attempt(run.run_id, 1, rigs.candidate())
        context.journal.update_attempt(attempt, AttemptState.UP, nodes=[rigs.node(host_key="ssh-ed25519 AAAA")])
    monkeypatch.setattr(collect, "collect_outputs", lambda *_: {"model": tmp_path})
    closed: list[Ssh] = []
    monkeypatch.setattr(Ssh, "close", closed.append)
    assert pull._from_nodes(run, tmp_path) == {"model": tmp_path}
    assert closed == []
