from __future__ import annotations

from support.rigs import NOW
from trainrig.model.proof import Fate, Proof
from trainrig.reports.destroy_text import text

GONE = Fate(type="instance", id="i-1", gone=True, seen_gone_at=NOW, how="terraform")
LEFT = Fate(type="volume", id="vol-1", gone=False, seen_gone_at=None, how="sweep", detail="VolumeInUse: by i-9")


def test_a_proof_says_when_each_thing_was_seen_gone() -> None:
    said = text(Proof(rig="llama", run_id="abcd2345", fates=(GONE,)))
    assert "i-1" in said
    assert "2026-03-01T12:00:00Z" in said
    assert said.endswith("llama: all 1 resources of run abcd2345 are gone, the cloud was asked")


def test_what_is_left_is_named_with_the_clouds_words_and_never_called_gone() -> None:
    said = text(Proof(rig="llama", run_id="abcd2345", fates=(GONE, LEFT), doubts=("gcp could not be asked",)))
    assert "VolumeInUse: by i-9" in said
    assert "in doubt: gcp could not be asked" in said
    assert "it may bill" in said
    assert "all 2" not in said


def test_nothing_to_do_is_said_plainly() -> None:
    assert "nothing to destroy" in text(Proof(rig="llama", run_id="abcd2345", fates=()))
    assert "may bill" in text(Proof(rig="llama", run_id="abcd2345", fates=(), doubts=("aws could not be asked",)))
