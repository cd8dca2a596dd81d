from __future__ import annotations

from pathlib import Path

import pytest

from support import rigs
from trainrig.lifecycle import admitted
from trainrig.model.rig import RigState
from trainrig.placement.admission import Use
from trainrig.store.journal import Journal


@pytest.mark.parametrize("gpu", ["A100", None])
def test_what_a_run_takes_is_known_until_it_is_proven_gone(isolated: Path, gpu: str | None) -> None:
    journal = Journal(isolated)
    journal.intend(rigs.identity(), details={})
    assert admitted.uses(journal) == ()
    use = Use(environment="test", account="aws", gpu=gpu, gpus=8 if gpu else 0)
    admitted.take(journal, "abcd2345", use)
    assert admitted.uses(journal) == (use,)
    assert admitted.uses(journal, but="abcd2345") == ()
    elsewhere = Use(environment="test", account="gcp", gpu=None, gpus=0)
    admitted.take(journal, "abcd2345", elsewhere)
    assert admitted.uses(journal) == (elsewhere,)
    journal.set_state("abcd2345", RigState.DESTROYED, clean=True)
    assert admitted.uses(journal) == ()
    journal.close()
