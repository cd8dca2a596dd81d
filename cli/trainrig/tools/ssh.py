"""OpenSSH: a key per rig, host keys known beforehand, one shared connection a node."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from trainrig.errors import CommandFailed, ConfigureFailed, PreflightFailed
from trainrig.model.node import Node
from trainrig.model.process import Command, Outcome
from trainrig.recovery.node_advice import advice
from trainrig.render import ssh_config
from trainrig.tools import proc

T = TypeVar("T")

KEY = "id_ed25519"
CONFIG = "ssh_config"
KNOWN_HOSTS = "known_hosts"
# Ends what a login shell says before our command, as a `.bashrc` does that prints.
MARK = "@trainrig-begin@"
# The system's own programs: not what somebody has put before them, nor in whose language they speak; and the node's own
# Docker, whatever /etc/environment or a context of root's names.
ENVIRONMENT = (
    *("/usr/bin/env", "-u", "PYTHONHOME", "-u", "PYTHONPATH"),
    *("PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DOCKER_HOST=unix:///var/run/docker.sock"),
)
ASK_CLOUD_SECONDS = 10  # so long a node may not answer, while it boots, before its cloud is asked for it
UNREACHABLE = 255  # ssh's own exit code: no connection, or a lost one
_FATAL = ("Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED", "Bad owner or permissions")


def make_key(rig: Path) -> str:
    """The rig's public key; makes the pair on first use, with no passphrase and no question."""
    key = rig / KEY
    if not key.exists():
        rig.mkdir(parents=True, exist_ok=True, mode=0o700)
        proc.run(
            Command(argv=["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"trainrig {rig.name}", "-f", str(key)])
        )
    return key.with_suffix(".pub").read_text(encoding="utf-8").strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class Ssh:
    """The way to the nodes of one rig. Made by `connect`; commands run as root, through sudo where needed."""

    rig: Path
    nodes: tuple[Node, ...]

    @property
    def config(self) -> Path:
        return self.rig / CONFIG

    def argv(self, node: Node, *options: str) -> list[str]:
        return ["ssh", "-F", str(self.config), *options, node.name]

    def command(
        self,
        node: Node,
        words: Sequence[str],
        *,
        stdin: bytes | None = None,
        timeout_seconds: float | None = None,
        secrets: Sequence[str] = (),
    ) -> Command:
        """`words` as root on the node; each word reaches the program as it is."""
        argv = [*self.argv(node, "-o", "BatchMode=yes"), remote_line(node, words)]
        return Command(argv=argv, stdin=stdin, timeout_seconds=timeout_seconds, secrets=secrets)

    def run(
        self,
        node: Node,
        words: Sequence[str],
        *,
        stdin: bytes | None = None,
        timeout_seconds: float | None = None,
        secrets: Sequence[str] = (),
        check: bool = True,
    ) -> Outcome:
        """Runs to the end. Raises CommandFailed, with `check`, on a code other than 0."""
        command = self.command(node, words, stdin=stdin, timeout_seconds=timeout_seconds, secrets=secrets)
        plain = Command(argv=["ssh", node.name, *words], secrets=secrets)  # without what is only for the machinery
        try:
            outcome = proc.run(command, check=False)
        except CommandFailed as error:
            raise CommandFailed(error.message.replace(proc.shown(command), proc.shown(plain))) from error
        said, mark, answer = outcome.stdout.partition(f"{MARK}\n")
        outcome = replace(outcome, stdout=answer if mark else said)
        if check and not outcome.ok:
            raise proc.failed(plain, outcome)
        return outcome

    def each(self, work: Callable[[Node], T]) -> list[T]:
        """`work` on all nodes at once, results in rank order; the first error is raised when all have ended."""
        return in_parallel(self.nodes, work)

    def close(self) -> None:
        """Ends the shared connections."""
        for node in self.nodes:
            proc.run(Command(argv=self.argv(node, "-q", "-O", "exit")), check=False)


def in_parallel(nodes: Sequence[Node], work: Callable[[Node], T]) -> list[T]:
    if len(nodes) == 1:  # most rigs, asked about every second: a pool of threads is most of what asking costs
        return [work(nodes[0])]
    with ThreadPoolExecutor(max_workers=max(1, len(nodes))) as pool:
        futures = [pool.submit(work, node) for node in nodes]
    return [f.result() for f in futures]


def remote_line(node: Node, words: Sequence[str]) -> str:
    """What the node's login shell is given to run `words` as root."""
    privilege = [] if node.ssh_user == "root" else ["/usr/bin/sudo", "-n", "--"]
    return f"echo {MARK}; exec {shlex.join([*privilege, *ENVIRONMENT, *words])}"


def connect(rig: Path, nodes: Iterable[Node]) -> Ssh:
    """Writes the rig's ssh_config and known_hosts.

    Raises:
        ConfigureFailed: a node's host key is not known; it is never taken on trust.
    """
    ssh = Ssh(rig=rig, nodes=tuple(sorted(nodes, key=lambda n: n.rank)))
    unknown = [n.name for n in ssh.nodes if not n.host_key]
    if unknown:
        raise ConfigureFailed(
            f"the SSH host key of {', '.join(unknown)} is not known",
            hint="trainrig never connects to a host it cannot recognise; destroy the rig and apply again",
            details={"nodes": unknown},
        )
    _write(rig / KNOWN_HOSTS, ssh_config.known_hosts(ssh.nodes))
    text = ssh_config.ssh_config(ssh.nodes, key=rig / KEY, known_hosts=rig / KNOWN_HOSTS, control_dir=control_dir(rig))
    _write(ssh.config, text)
    return ssh


def control_dir(rig: Path) -> Path:
    """A short directory of our own: a socket's path has at most 104 characters, and a rig's folder may not fit."""
    base = Path(tempfile.gettempdir()) / f"trainrig-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    status = base.lstat()
    if base.is_symlink() or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PreflightFailed(f"{base} is not ours alone", hint=f"remove {base}")
    path = base / hashlib.sha256(str(rig).encode()).hexdigest()[:8]
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def forget(rig: Path) -> None:
    """For a rig that is gone: its key opens nothing any more, so nobody should keep it, nor the shared connections."""
    (rig / KEY).unlink(missing_ok=True)
    with contextlib.suppress(PreflightFailed, OSError):  # nothing that bills
        shutil.rmtree(control_dir(rig))


def wait_ready(
    ssh: Ssh,
    *,
    timeout_seconds: float = 300,
    on_ready: Callable[[Node], None] = lambda _node: None,
    gone: Callable[[], bool | None] = lambda: None,
    stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Returns when every node takes our key and runs a command.

    Args:
        gone: whether the cloud says that a node is gone, which nobody need wait for; asked now and then, by one thread
            at a time.
        stopped: True ends the wait as if the time were up.

    Raises:
        ConfigureFailed: a node showed another host key (at once), did not answer in time (with ssh's last words), or is
            gone.
    """
    began = time.monotonic()
    deadline = began + timeout_seconds
    asking, ask_at, lost = threading.Lock(), began + ASK_CLOUD_SECONDS, threading.Event()

    def given_up() -> bool:
        nonlocal ask_at
        if time.monotonic() > ask_at and asking.acquire(blocking=False):
            with contextlib.ExitStack() as held:
                held.callback(asking.release)
                if not lost.is_set() and gone() is True:
                    lost.set()
                ask_at = time.monotonic() + ASK_CLOUD_SECONDS
        return lost.is_set() or stopped()

    def wait(node: Node) -> tuple[str, str]:
        pause = 0.2
        while words := _refusal(ssh, node):
            if any(mark in words for mark in _FATAL) or given_up() or time.monotonic() + pause > deadline:
                return node.name, words
            time.sleep(pause)
            pause = min(pause * 1.5, 3.0)
        on_ready(node)
        return node.name, ""

    failed = {name: words for name, words in ssh.each(wait) if words}
    if failed:
        ssh.close()  # sshd keeps what it knew of the user when the shared connection was made
        lines = [f"{name}: {words.splitlines()[-1]}" for name, words in failed.items()]
        waited = "" if any(mark in line for mark in _FATAL for line in lines) else f", within {timeout_seconds:g} s"
        if lost.is_set():
            waited = ", and one is gone, as its cloud says"
        raise ConfigureFailed(
            "\n    ".join([f"no SSH to {len(failed)} of {len(ssh.nodes)} nodes{waited}", *lines]),
            hint=f"{advice(' '.join(lines))}; look with: ssh -v -F {ssh.config} {next(iter(failed))}",
            details={"nodes": failed, "unreachable": True},
        )


def _refusal(ssh: Ssh, node: Node) -> str:
    """Why the node does not take us now; empty when it does."""
    try:
        outcome = ssh.run(node, ["true"], timeout_seconds=60, check=False)
    except CommandFailed as error:
        return error.message
    # A login shell that is none complains where programs answer.
    said = outcome.stderr.strip() or outcome.stdout.strip()
    return "" if outcome.ok else said or f"ssh exited with {outcome.returncode}"


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.new")
    temporary.touch(mode=0o600)
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
