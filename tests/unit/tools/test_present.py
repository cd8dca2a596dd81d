from __future__ import annotations

from pathlib import Path

import pytest

from trainrig.model.readiness import Check
from trainrig.tools import present


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH on which there is only what a test puts there; the scripts use the shell's own commands."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def by_name() -> dict[str, Check]:
    return {c.name: c for c in present.checks()}


def test_programs_say_their_versions(path: Path) -> None:
    program(path, "terraform", """echo '{"terraform_version": "1.11.4"}'""")
    program(path, "ssh", "echo OpenSSH_9.2p1 >&2")
    program(path, "rsync", "echo 'rsync  version 3.5.0'; echo more")
    program(path, "docker", "echo Docker version 28.2.2")
    found = by_name()
    assert {c.status for c in found.values()} == {"pass"}
    assert found["terraform"].detail == "terraform 1.11.4"
    assert (found["ssh"].detail, found["rsync"].detail) == ("OpenSSH_9.2p1", "rsync  version 3.5.0")


def test_what_is_missing_has_a_command(path: Path) -> None:
    found = by_name()
    assert found["ssh"].status == found["rsync"].status == "fail"
    assert found["rsync"].mend == "sudo apt-get install rsync"
    # not everybody needs it
    assert found["docker"].status == "skip"


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        ("""echo '{"terraform_version": "1.5.7"}'""", "terraform 1.5.7 is too old, 1.10 is the oldest"),
        ("echo nonsense", "it does not say its version"),
    ],
)
def test_an_unusable_terraform_fails(path: Path, said: str, detail: str) -> None:
    program(path, "terraform", said)
    found = by_name()["terraform"]
    assert (found.status, found.detail) == ("fail", detail)
