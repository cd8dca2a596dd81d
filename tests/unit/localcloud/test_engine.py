from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest
from docker.errors import APIError

from trainrig.errors import CommandFailed, CredentialsMissing, MissingTool, PreflightFailed, RigError
from trainrig.localcloud import engine
from trainrig.localcloud.engine import connect, doing


def refusal() -> RigError:
    with pytest.raises(PreflightFailed) as caught:
        connect()
    return caught.value


def test_no_docker_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    error = refusal()
    assert isinstance(error, MissingTool)
    assert "apt-get install docker.io" in error.hint


def test_no_rights_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def knock() -> None:  # root is refused nothing
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(engine, "_knock", knock)
    error = refusal()
    assert isinstance(error, CredentialsMissing)
    assert "usermod -aG docker" in error.hint


def test_a_daemon_that_does_not_run_says_how_to_start_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(tmp_path / "docker.sock"))
    error = refusal()
    assert type(error) is PreflightFailed
    assert "systemctl start docker" in error.hint
    assert "refused" in str(error.details)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("Pool overlaps with other one on this address space", "network: {subnet: ...}"),
        ("all predefined address pools have been fully subnetted", "trainrig sweep"),
        ("write /var/lib/docker/x: no space left on device", "docker system df"),
        ("Bind for 127.0.0.1:32768 failed: port is already allocated", "run it again"),
        ("something new", ""),
    ],
)
def test_what_docker_says_comes_with_what_to_do(words: str, hint: str) -> None:
    with pytest.raises(CommandFailed, match="make a node") as caught, doing("make a node"):
        raise APIError("500 Server Error", explanation=words)
    assert words in caught.value.message
    assert hint in caught.value.hint
    assert bool(caught.value.hint) == bool(hint)
