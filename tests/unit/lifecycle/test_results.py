from __future__ import annotations

from pathlib import Path

import pytest

from trainrig.lifecycle import results

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_small_json_is_shown_and_other_files_by_their_digest(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text('{"loss": 0.5}')
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights.bin").write_text("abc")
    (tmp_path / "model" / "config.json").write_text("[1]")
    found = {"metrics": tmp_path / "metrics.json", "model": tmp_path / "model", "one": tmp_path / "model/weights.bin"}
    assert results.outputs_document(found) == {
        "metrics": {"loss": 0.5},
        "model": {"bytes": 6, "files": {"config.json": [1], "weights.bin": {"bytes": 3, "sha256": ABC}}},
        "one": {"bytes": 3, "sha256": ABC},
    }


def test_metrics_are_the_output_of_that_name_or_the_file_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text('{"loss": 0.5}')
    assert results.metrics_of({"metrics": tmp_path / "metrics.json"}) == {"loss": 0.5}
    assert results.metrics_of({"files": tmp_path}) == {"loss": 0.5}
    assert results.metrics_of({}) == {}


def test_a_file_that_is_not_json_after_all_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text("abc")
    assert results.outputs_document({"metrics": tmp_path / "metrics.json"}) == {"metrics": {"bytes": 3, "sha256": ABC}}
    assert results.metrics_of({"metrics": tmp_path / "metrics.json"}) == {}


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 60 + "]" * 60])
def test_a_file_that_is_nested_too_deeply_is_a_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "deep.json").write_text(text)
    assert set(results.outputs_document({"deep": tmp_path / "deep.json"})["deep"]) == {"bytes", "sha256"}


def test_a_loss_that_is_no_number_is_a_word(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text('{"loss": NaN, "worst": -Infinity, "big": 1e999, "deep": [[[1.5]]]}')
    found = results.metrics_of({"files": tmp_path})
    assert found == {"loss": "NaN", "worst": "-Infinity", "big": "1e999", "deep": [[[1.5]]]}


def test_a_link_is_read_only_where_it_stays_among_what_the_job_made(tmp_path: Path) -> None:
    """A job's container must not choose what is read of this machine."""
    (tmp_path / "private.json").write_text('{"of": "this machine"}')
    made = tmp_path / "made"
    (made / "run-3").mkdir(parents=True)
    (made / "run-3" / "metrics.json").write_text('{"loss": 0.5}')
    (made / "metrics.json").symlink_to("run-3/metrics.json")
    assert results.metrics_of({"files": made}) == {"loss": 0.5}
    (made / "metrics.json").unlink()
    (made / "metrics.json").symlink_to(tmp_path / "private.json")
    assert results.metrics_of({"files": made}) == {}
    assert "machine" not in str(results.outputs_document({"files": made}))
