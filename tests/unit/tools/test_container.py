"""Bringing an image to nodes, with an `ssh` and a `docker` on PATH that play theirs."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.jobs import a_node
from trainrig.errors import ConfigureFailed, SpecInvalid
from trainrig.model.events import Event, Progress, silent
from trainrig.tools.container import Ahead, Login, build, deliver
from trainrig.tools.ssh import Ssh, connect

Play = Callable[[str, str], Ssh]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Makes the programs: `docker` here, and what a node does with a command line in `$line`."""
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def make(here: str, node: str) -> Ssh:
        (tmp_path / "bin").mkdir()
        head = f'for line; do :; done; echo "$line" >> {tmp_path}/calls\n'
        for name, body in (("docker", here), ("ssh", head + node)):
            (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
            (tmp_path / "bin" / name).chmod(0o755)
        return connect(tmp_path, [a_node(0), a_node(1)])

    return make


BUILT_HERE = 'case "$*" in *RepoDigests*) echo sha256:aaa ;; *Size*) echo 4 ;; save*) printf data ;; esac'
NOT_HERE = "exit 1"


def test_an_image_that_was_built_here_is_streamed_to_the_nodes_that_lack_it(play: Play, tmp_path: Path) -> None:
    has = f'case "$*" in *hello-0*inspect*) echo sha256:aaa ;; *load*) cat > {tmp_path}/loaded ;; *) exit 1 ;; esac'
    seen: list[Event] = []
    deliver(play(BUILT_HERE, has), "train:1", seen.append)
    assert (tmp_path / "loaded").read_text() == "data"
    assert "pull" not in (tmp_path / "calls").read_text()
    last = seen[-1]
    assert isinstance(last, Progress)
    assert (last.message, last.done, last.total) == ("train:1 to tr-hello-1", 4, 4)


def test_an_image_of_this_machine_has_a_head_start_on_the_nodes_whose_docker_is_up(play: Play, tmp_path: Path) -> None:
    up = f'case "$*" in *hello-0*version*) ;; *load*) cat >> {tmp_path}/loaded ;; *) exit 1 ;; esac'
    ssh = play(BUILT_HERE, up)
    with Ahead("train:1", silent) as image:
        image.begin(ssh)
    assert (tmp_path / "loaded").read_text() == "data"


def test_a_head_start_that_fails_is_no_failure(play: Play) -> None:
    ssh = play(BUILT_HERE, 'case "$*" in *version*) ;; *) exit 1 ;; esac')
    with Ahead("train:1", silent) as image:
        image.begin(ssh)


def test_a_head_start_ends_when_what_it_was_for_has_failed(play: Play) -> None:
    endless = BUILT_HERE.replace("printf data", "exec yes")
    ssh = play(endless, 'case "$*" in *load*) exec cat ;; *inspect*) exit 1 ;; esac')
    with contextlib.suppress(ZeroDivisionError), Ahead("train:1", silent) as image:
        image.begin(ssh)
        raise ZeroDivisionError


def test_a_node_that_has_the_digest_does_not_pull_again(play: Play, tmp_path: Path) -> None:
    deliver(play(NOT_HERE, "echo sha256:aaa"), "r.example/train@sha256:bbb", silent)
    assert "pull" not in (tmp_path / "calls").read_text()


def test_a_registry_that_is_dead_is_told_in_dockers_words_by_node(play: Play) -> None:
    ssh = play(NOT_HERE, "echo 'dial tcp: connection refused' >&2; exit 1")
    with pytest.raises(ConfigureFailed, match=r"tr-hello-0: dial tcp: connection refused\n.*tr-hello-1"):
        deliver(ssh, "r.example/train:1", silent)


def test_a_login_travels_to_the_node_by_stdin_alone(play: Play, tmp_path: Path) -> None:
    ssh = play(NOT_HERE, f'case "$line" in *pull*) cat > {tmp_path}/stdin ;; esac')
    deliver(ssh, "r.example/train:1", silent, login=Login(server="r.example", user="ada", password="s3cret"))
    assert json.loads((tmp_path / "stdin").read_text()) == {"server": "r.example", "user": "ada", "password": "s3cret"}
    assert "s3cret" not in (tmp_path / "calls").read_text()


def test_a_login_names_docker_hub_when_it_names_no_server() -> None:
    login = Login.of({"SKYPILOT_DOCKER_USERNAME": "ada", "SKYPILOT_DOCKER_PASSWORD": "s3cret"})
    assert login == Login(server="docker.io", user="ada", password="s3cret")
    assert Login.of({}) is None


@pytest.mark.parametrize(
    ("written", "server"),
    [
        ("https://ghcr.io/my-org", "ghcr.io"),
        ("http://registry.example:5000/v2/", "registry.example:5000"),
        ("123456789012.dkr.ecr.us-east-1.amazonaws.com/train", "123456789012.dkr.ecr.us-east-1.amazonaws.com"),
        ("https://index.docker.io/v1/", "docker.io"),
        (" NVCR.io ", "nvcr.io"),
    ],
)
def test_a_server_is_read_as_docker_login_reads_it(written: str, server: str) -> None:
    login = Login.of({"SKYPILOT_DOCKER_USERNAME": "ada", "SKYPILOT_DOCKER_SERVER": written})
    assert login is not None
    assert login.server == server


def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    """A `docker` that plays the builder, and a Dockerfile."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "docker").write_text(f"#!/bin/sh\n{body}\n")
    (tmp_path / "bin" / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    return tmp_path / "Dockerfile"


def test_an_image_is_built_from_the_dockerfiles_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = f'echo "$*" > {tmp_path}/words; echo "Step 1/1 : FROM scratch"; printf sha256:abc > "$3"'
    seen: list[Event] = []
    assert build(builder(tmp_path, monkeypatch, body), "Hello", seen.append) == "sha256:abc"
    words = (tmp_path / "words").read_text().split()
    assert words[3:] == [
        "--force-rm",
        "--tag",
        "trainrig-built/hello",
        "--file",
        f"{tmp_path}/Dockerfile",
        str(tmp_path),
    ]
    assert [e.message for e in seen if isinstance(e, Progress)] == ["Step 1/1 : FROM scratch"]


def test_what_does_not_build_is_said_in_the_builders_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dockerfile = builder(tmp_path, monkeypatch, "echo 'unknown instruction: RUM' >&2; exit 1")
    with pytest.raises(SpecInvalid, match=r"does not build\n +unknown instruction: RUM"):
        build(dockerfile, "hello", silent)
    with pytest.raises(SpecInvalid, match="there is no Dockerfile"):
        build(tmp_path / "elsewhere" / "Dockerfile", "hello", silent)
