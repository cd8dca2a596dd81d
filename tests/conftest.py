"""Guards for every test: own TRAINRIG_HOME, no colour, no inherited trainrig or Terraform settings."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest


def pytest_configure() -> None:
    """A shell that starts us in the background hands on ignored signals, and so would we to every child."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh TRAINRIG_HOME; the cache is shared, since what it holds is keyed by content."""
    home = tmp_path / "trainrig-home"
    for name in (
        "TRAINRIG_ENV",
        "TRAINRIG_DATABASE_URL",
        "TF_CLI_CONFIG_FILE",
        "TF_CLI_ARGS",
        "TF_WORKSPACE",
        "TF_DATA_DIR",
        "GITHUB_ACTIONS",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRAINRIG_HOME", str(home))
    monkeypatch.setenv("NO_COLOR", "1")
    return home


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/expected anew, for review")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))
