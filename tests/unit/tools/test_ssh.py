"""The way to the nodes, with an `ssh` on PATH that plays theirs."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from support.jobs import a_node
from trainrig.errors import CommandFailed, ConfigureFailed, PreflightFailed
from trainrig.model.node import Node
from trainrig.tools import ssh as tool
from trainrig.tools.ssh import KEY, Ssh, connect, control_dir, forget, make_key, wait_ready


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ssh that notes its calls and then does what the file it returns says."""
    script = tmp_path / "bin" / "ssh"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n. {tmp_path}/play\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / "play"


def ready(ssh: Ssh, timeout_seconds: float = 30) -> list[str]:
    seen: list[Node] = []
    wait_ready(ssh, timeout_seconds=timeout_seconds, on_ready=seen.append)
    return [node.name for node in seen]


def test_a_key_is_made_once_without_a_question_and_stays_private(tmp_path: Path) -> None:
    public = make_key(tmp_path / "rig")
    assert public.startswith("ssh-ed25519 ")
    assert make_key(tmp_path / "rig") == public
    assert (tmp_path / "rig" / tool.KEY).stat().st_mode & 0o077 == 0


def test_of_a_rig_that_is_gone_neither_key_nor_sockets_stay(tmp_path: Path) -> None:
    make_key(tmp_path)
    sockets = control_dir(tmp_path)
    (sockets / "socket").touch()
    forget(tmp_path)
    assert not (tmp_path / KEY).exists()
    assert not sockets.exists()
    forget(tmp_path)


def test_a_node_whose_host_key_is_not_known_is_never_connected_to(tmp_path: Path) -> None:
    with pytest.raises(ConfigureFailed, match="host key of tr-hello-1 is not known"):
        connect(tmp_path, [a_node(0), a_node(1, host_key=None)])
    assert not (tmp_path / tool.CONFIG).exists()


def test_the_files_of_the_connection_are_the_owners_alone(tmp_path: Path, play: Path) -> None:
    ssh = connect(tmp_path, [a_node()])
    for path in (ssh.config, tmp_path / tool.KNOWN_HOSTS):
        assert path.stat().st_mode & 0o077 == 0


def test_nodes_are_ready_once_they_take_the_key(tmp_path: Path, play: Path) -> None:
    play.write_text(f"[ $(wc -l < {tmp_path}/calls) -ge 3 ] || {{ echo 'Connection refused' >&2; exit 255; }}\n")
    assert ready(connect(tmp_path, [a_node()])) == ["tr-hello-0"]
    assert len((tmp_path / "calls").read_text().splitlines()) == 3


@pytest.mark.parametrize("why", ["gone", "stopped"])
def test_nobody_waits_for_a_node_that_is_gone_or_when_told_to_stop(
    tmp_path: Path, play: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    monkeypatch.setattr(tool, "ASK_CLOUD_SECONDS", 0.3)
    play.write_text("echo 'No route to host' >&2; exit 255\n")
    began = time.monotonic()
    ssh = connect(tmp_path, [a_node(0), a_node(1)])
    answers = iter([None, False, True])  # the cloud does not say, says no, says yes
    words = {"gone": lambda: next(answers)} if why == "gone" else {"stopped": lambda: True}
    with pytest.raises(ConfigureFailed, match="No route to host") as caught:
        wait_ready(ssh, timeout_seconds=90, **words)
    assert caught.value.details["unreachable"]
    assert time.monotonic() - began < 90


def test_another_host_key_ends_the_wait_at_once(tmp_path: Path, play: Path) -> None:
    play.write_text("echo 'Host key verification failed.' >&2; exit 255\n")
    with pytest.raises(ConfigureFailed, match=r"tr-hello-0: Host key verification failed"):
        ready(connect(tmp_path, [a_node()]))
    asked, ended = (tmp_path / "calls").read_text().splitlines()
    assert ("BatchMode" in asked, "-O exit" in ended) == (True, True)  # what a shared connection knows may be old


def test_a_node_that_never_answers_gets_a_verdict_with_its_last_words(tmp_path: Path, play: Path) -> None:
    play.write_text("case $* in *hello-1*) echo 'No route to host' >&2; exit 255 ;; esac\n")
    with pytest.raises(
        ConfigureFailed, match=r"no SSH to 1 of 2 nodes, within 0\.3 s\n.*tr-hello-1: No route to host"
    ) as caught:
        ready(connect(tmp_path, [a_node(0), a_node(1)]), timeout_seconds=0.3)
    assert caught.value.details["nodes"] == {"tr-hello-1": "No route to host"}


def test_a_login_shell_that_is_none_is_heard(tmp_path: Path, play: Path) -> None:
    play.write_text("echo This account is currently not available.; exit 1\n")
    with pytest.raises(ConfigureFailed, match="account is currently not available") as failed:
        ready(connect(tmp_path, [a_node()]), timeout_seconds=0)
    assert "nologin" in failed.value.hint


def test_words_reach_the_node_as_they_are_and_root_is_asked_for_only_where_needed(tmp_path: Path, play: Path) -> None:
    play.write_text('for last; do :; done; eval "$(echo "$last" | sed "s:exec /usr/bin/sudo -n --::")"\n')
    ssh = connect(tmp_path, [a_node(ssh_user="ubuntu")])
    outcome = ssh.run(ssh.nodes[0], ["printf", "%s|", "a b", "$HOME", "it's"])
    assert outcome.stdout == "a b|$HOME|it's|"


def test_what_a_login_shell_says_is_not_the_commands_answer(tmp_path: Path, play: Path) -> None:
    play.write_text('for last; do :; done; printf "Welcome!\\nbe good"; eval "$last"\n')
    ssh = connect(tmp_path, [a_node()])
    assert ssh.run(ssh.nodes[0], ["echo", "answer"]).stdout == "answer\n"
    assert ssh.run(ssh.nodes[0], ["true"]).stdout == ""


def test_a_command_runs_with_the_systems_own_programs_and_language(tmp_path: Path, play: Path) -> None:
    play.write_text('export PYTHONHOME=/nowhere DOCKER_HOST=tcp://192.0.2.7; for last; do :; done; eval "$last"\n')
    ssh = connect(tmp_path, [a_node()])
    said = ssh.run(ssh.nodes[0], ["sh", "-c", "echo $PATH $LC_ALL $DOCKER_HOST $PYTHONHOME"]).stdout
    assert said == "/usr/sbin:/usr/bin:/sbin:/bin C.UTF-8 unix:///var/run/docker.sock\n"


def test_a_command_that_fails_is_named_with_its_node(tmp_path: Path, play: Path) -> None:
    play.write_text("echo no such unit >&2; exit 4\n")
    ssh = connect(tmp_path, [a_node()])
    with pytest.raises(CommandFailed, match=r"^ssh tr-hello-0 systemctl stop x exited with 4\n    no such unit$"):
        ssh.run(ssh.nodes[0], ["systemctl", "stop", "x"])


def test_a_directory_for_sockets_that_others_can_enter_is_refused(tmp_path: Path, play: Path) -> None:
    (tmp_path / f"trainrig-{os.getuid()}").mkdir(mode=0o755)
    with pytest.raises(PreflightFailed, match="is not ours alone"):
        control_dir(tmp_path / "rig")
