from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import rigs
from trainrig.errors import RigUnknown
from trainrig.lifecycle import logs
from trainrig.model.rig import RigState
from trainrig.store.journal import Journal
from trainrig.store.workdir import RigDir


@pytest.fixture
def journal(isolated: Path) -> Iterator[Journal]:
    found = Journal(isolated)
    found.intend(rigs.identity(), details={})
    yield found
    found.close()


@pytest.fixture
def directory(isolated: Path) -> Path:
    path = RigDir.of(isolated, rigs.identity()).path / "logs"
    path.mkdir(parents=True)
    return path


def test_lines_so_far_by_rank(isolated: Path, journal: Journal, directory: Path) -> None:
    (directory / "rank-1.log").write_text("c\n")
    (directory / "rank-0.log").write_text("a\nb\nhalf a li")
    found = [(line.rank, line.text) for line in logs.follow(isolated, "finetune", rank=None, wait=False)]
    assert found == [(0, "a"), (0, "b"), (1, "c")]
    assert [line.text for line in logs.follow(isolated, "finetune", rank=1, wait=False)] == ["c"]


def test_follow_ends_with_the_run_and_misses_nothing(isolated: Path, journal: Journal, directory: Path) -> None:
    log = directory / "rank-0.log"
    log.write_text("first\nsec")
    identity = rigs.identity()

    def meanwhile(_seconds: float) -> None:
        with log.open("a") as f:
            f.write("ond\nlast\n")
        journal.set_state(identity.run_id, RigState.DESTROYED, clean=True)

    lines = logs.follow(isolated, identity.run_id, rank=None, wait=True, sleep=meanwhile)
    assert [line.text for line in lines] == ["first", "second", "last"]


def test_a_job_that_wrote_nothing(isolated: Path, journal: Journal) -> None:
    with pytest.raises(RigUnknown, match="has not written anything"):
        list(logs.follow(isolated, "finetune", rank=None, wait=False))
    with pytest.raises(RigUnknown, match="there is no rig 'other'"):
        list(logs.follow(isolated, "other", rank=None, wait=False))
