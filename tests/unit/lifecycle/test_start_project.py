from __future__ import annotations

from pathlib import Path

import pytest

from trainrig.errors import UsageError
from trainrig.lifecycle.load_job import load_job
from trainrig.lifecycle.start_project import ENVIRONMENTS, start_project, templates


@pytest.mark.parametrize("template", ENVIRONMENTS)
def test_a_new_project_loads_with_its_environment(
    template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    started = start_project(template, Path())
    assert started.written == (Path(f"{template}.yaml"), Path(f"environments/{started.environment}.yaml"))
    (job,), environment = load_job(started.written[0], started.environment)
    assert environment.source == str(started.written[1])
    assert job.run


def test_every_template_file_is_offered_and_described() -> None:
    from trainrig import assets

    files = {p.stem for p in (assets.path("templates") / "init").glob("*.yaml")}
    assert files == set(templates())
    assert all(len(text) > 20 for text in templates().values())


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "environments").mkdir()
    mine = tmp_path / "environments/local.yaml"
    mine.write_text("clouds: {local: {}}\n")
    assert start_project("hello", tmp_path).kept == (mine,)
    assert mine.read_text() == "clouds: {local: {}}\n"
    with pytest.raises(UsageError, match="is there already"):
        start_project("hello", tmp_path)


def test_an_unknown_template_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        start_project("sweep", tmp_path)
    assert "finetune" in caught.value.hint
    assert list(tmp_path.iterdir()) == []
