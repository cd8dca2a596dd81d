"""How long a save took, from what `stat` says on the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.jobs import a_node
from trainrig.lifecycle.collect import save_times
from trainrig.model.node import Node
from trainrig.model.process import Outcome
from trainrig.tools.ssh import Ssh


@pytest.mark.parametrize(
    ("said", "since", "found"),
    [
        (["10.5 12.0\n10.0 11.0\n", ""], 0.0, (12.0, 2.0)),
        # each rank its shard: from the first that began to the last that ended
        (["20.0 21.0\n", "20.5 24.0\n"], 15.0, (24.0, 4.0)),
        # what was there before is of an earlier save
        (["10.0 12.0\n20.0 23.0\n", ""], 12.0, (23.0, 3.0)),
        # written over in place
        (["10.0 30.0\n", ""], 12.0, (30.0, None)),
        # a file system that keeps no births
        (["0.000000000 30.0\n", ""], 0.0, (30.0, None)),
        # given back after a recovery
        (["40.0 12.0\n", ""], 0.0, (12.0, None)),
        (["", ""], 0.0, (0.0, None)),
    ],
)
def test_a_save_lasts_from_the_birth_of_its_first_file_to_the_end_of_its_last(
    monkeypatch: pytest.MonkeyPatch, said: list[str], since: float, found: tuple[float, float | None]
) -> None:
    def answered(_: Ssh, node: Node, words: Sequence[str]) -> Outcome:
        return Outcome(returncode=0, stdout=said[node.rank], stderr="", seconds=0)

    monkeypatch.setattr(Ssh, "run", answered)
    assert save_times(Ssh(rig=Path("/rig"), nodes=(a_node(), a_node(1))), since) == found
