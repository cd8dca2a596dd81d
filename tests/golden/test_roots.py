"""Job file and environment in, Terraform root out: compared with the folders of expected/, byte for byte.

`pytest tests/golden --update-golden` writes them anew, for review.
"""

from __future__ import annotations

import shutil

import pytest

from support import golden
from trainrig.lifecycle.render_rig import module


@pytest.fixture(autouse=True)
def one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The local cloud's image is named after this machine and the recipe of the day."""
    monkeypatch.setattr("trainrig.clouds.local.built_images.machine", lambda: "trainrig-node:golden")


@pytest.mark.parametrize("name", golden.names())
def test_a_job_renders_to_the_expected_folder(name: str, update_golden: bool) -> None:
    files = golden.render(golden.case(name))
    shown = golden.shown(files)
    folder = golden.FOLDER / "expected" / name
    if update_golden:
        shutil.rmtree(folder, ignore_errors=True)
        for path, text in shown.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    expected = {
        p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8") for p in folder.rglob("*") if p.is_file()
    }
    assert shown == expected
    modules = {f"module/{path}": text for path, text in module(golden.case(name).cloud).items()}
    assert modules.items() <= files.items()
    assert files["variables.tf"] == files["module/variables.tf"]


@pytest.mark.parametrize("name", golden.names())
def test_prices_move_and_roots_do_not(name: str) -> None:
    case = golden.case(name)
    assert golden.render(golden.dearer(case, "1.17")) == golden.render(case)


def test_no_expected_folder_is_left_over() -> None:
    assert sorted(p.name for p in (golden.FOLDER / "expected").iterdir()) == golden.names()
