"""The one place that starts processes: `run` to the end, `Stream` line by line.

Every child gets its own session, so that a Ctrl-C on the terminal reaches trainrig alone, which then decides how its
children end (Terraform must get exactly one SIGINT).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from trainrig.errors import CommandFailed, MissingTool
from trainrig.model.process import Command, Outcome

TAIL_LINES = 20
_LOOK_SECONDS = 2.0
_PIPE_BYTES = 16_384  # that a pipe takes, on any system, before anybody reads
MASK = "***"


def find(program: str, *, hint: str = "") -> str:
    """The full path of a program.

    Raises:
        MissingTool: it is not on PATH.
    """
    path = shutil.which(program)
    if path is None:
        raise MissingTool(f"{program} is not on PATH", hint=hint or f"install {program}")
    return path


def environment(overlay: Mapping[str, str | None]) -> dict[str, str]:
    """Our environment with `overlay` on top; None removes a name."""
    env = {**os.environ, **{k: v for k, v in overlay.items() if v is not None}}
    for name in (k for k, v in overlay.items() if v is None):
        env.pop(name, None)
    return env


def mask(text: str, secrets: Sequence[str]) -> str:
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def run(command: Command, *, check: bool = True) -> Outcome:
    """Runs to the end and returns what it said.

    Raises:
        MissingTool: the program is not there.
        CommandFailed: it ran past its time, or, with `check`, exited with another code than 0.
    """
    argv = [find(command.argv[0]), *command.argv[1:]]
    began = time.monotonic()
    process = subprocess.Popen(
        argv,
        cwd=command.cwd,
        env=environment(command.env),
        stdin=subprocess.PIPE if command.stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = _talk(process, command)
    except subprocess.TimeoutExpired:
        kill_group(process.pid)
        process.communicate()
        raise CommandFailed(f"{shown(command)} did not finish within {command.timeout_seconds:g} s") from None
    except BaseException:
        kill_group(process.pid)
        process.wait()
        raise
    outcome = Outcome(
        returncode=process.returncode,
        stdout=mask(out.decode("utf-8", "replace"), command.secrets),
        stderr=mask(err.decode("utf-8", "replace"), command.secrets),
        seconds=time.monotonic() - began,
    )
    if check and not outcome.ok:
        raise failed(command, outcome)
    return outcome


def _talk(process: subprocess.Popen[bytes], command: Command) -> tuple[bytes, bytes]:
    """All that it says. What a child started and left behind is not waited for: rsync gives up a node that hangs, and
    its ssh would hold our pipes for as long as the node does."""
    stdin, began, ended = command.stdin, time.monotonic(), None
    if stdin is not None and len(stdin) > _PIPE_BYTES:  # communicate() cannot go on with input that it has begun
        return process.communicate(stdin, timeout=command.timeout_seconds)
    while True:
        left = _LOOK_SECONDS
        if command.timeout_seconds is not None:
            left = min(left, began + command.timeout_seconds - time.monotonic())
        try:
            return process.communicate(stdin, timeout=max(left, 0))
        except subprocess.TimeoutExpired:
            stdin = None  # it is in the pipe
            if process.poll() is None:
                if left < _LOOK_SECONDS:
                    raise
            elif ended is None:
                ended = time.monotonic()
            elif time.monotonic() - ended >= _LOOK_SECONDS:
                kill_group(process.pid)


def failed(command: Command, outcome: Outcome) -> CommandFailed:
    tail = (outcome.stderr.strip() or outcome.stdout.strip()).splitlines()[-TAIL_LINES:]
    return CommandFailed(
        "\n    ".join([f"{shown(command)} exited with {outcome.returncode}", *tail]),
        details={"argv": [mask(a, command.secrets) for a in command.argv], "returncode": outcome.returncode},
    )


def shown(command: Command) -> str:
    """The command as one masked line, cut to what fits a terminal."""
    line = mask(" ".join(command.argv), command.secrets)
    return line if len(line) <= 160 else line[:157] + "..."


def kill_group(pid: int, sig: signal.Signals = signal.SIGKILL) -> None:
    """Signals a child's whole session; a group that is gone already is fine."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, sig)


def detach(command: Command, log: Path) -> int:
    """Starts a process that outlives us, in a session of its own, talking into `log`; returns its id."""
    process = _talking_into(log, command)
    process.returncode = 0  # nobody waits for it; without this Python warns when the object goes
    return process.pid


def _talking_into(log: Path, command: Command) -> subprocess.Popen[bytes]:
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        return subprocess.Popen(
            [find(command.argv[0]), *command.argv[1:]],
            cwd=command.cwd,
            env=environment(command.env),
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            start_new_session=True,
        )
    finally:
        os.close(descriptor)


class Stream:
    """A child whose stdout is read line by line while it runs; stderr is kept, its tail shown on failure."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self._stderr: list[str] = []
        self._process = subprocess.Popen(
            [find(command.argv[0]), *command.argv[1:]],
            cwd=command.cwd,
            env=environment(command.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        self._drain = threading.Thread(target=self._read_stderr, daemon=True)
        self._drain.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def lines(self) -> Iterator[str]:
        """Every line of stdout, masked, until the child closes it."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield mask(line.rstrip("\n"), self.command.secrets)

    def wait(self, timeout_seconds: float | None = None) -> int:
        """The exit code.

        Raises:
            CommandFailed: still running after `timeout_seconds`.
        """
        try:
            code = self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            raise CommandFailed(f"{shown(self.command)} is still running") from None
        self._close()
        return code

    def signal(self, sig: signal.Signals) -> None:
        """Sends `sig` to the child alone, not to its group."""
        if self._process.poll() is None:
            self._process.send_signal(sig)

    def kill(self) -> None:
        kill_group(self._process.pid)
        self._process.wait()
        self._close()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def stderr(self) -> str:
        return "\n".join(self._stderr)

    def _close(self) -> None:
        self._drain.join(1)  # a grandchild may hold stderr open for ever
        if self._process.stdout is not None:
            self._process.stdout.close()
        if self._process.stderr is not None and not self._drain.is_alive():
            self._process.stderr.close()

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._stderr.append(mask(line.rstrip("\n"), self.command.secrets))


class LoggedStream:
    """A child that writes stdout and stderr into a file, read from there line by line while it runs.

    With a pipe, a child that outlives us dies of SIGPIPE at its next word. Terraform must not: what it was creating
    would be lost from state. With a file it finishes, and its log is there for whoever comes next.
    """

    def __init__(self, command: Command, log: Path, *, poll_seconds: float = 0.02) -> None:
        self.command = command
        self.log = log
        self._poll_seconds = poll_seconds
        self._offset = log.stat().st_size if log.exists() else 0
        self._process = _talking_into(log, command)

    @property
    def pid(self) -> int:
        return self._process.pid

    def lines(self) -> Iterator[str]:
        """Every line that this child writes, masked, until it has ended."""
        with self.log.open("rb") as f:
            f.seek(self._offset)
            rest = b""
            while True:
                ended = self._process.poll() is not None
                chunk = f.read()
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    yield mask(line.decode("utf-8", "replace"), self.command.secrets)
                if not ended and not chunk:
                    time.sleep(self._poll_seconds)
                elif ended and not chunk:
                    break
            if rest:
                yield mask(rest.decode("utf-8", "replace"), self.command.secrets)

    def wait(self) -> int:
        return self._process.wait()

    def signal(self, sig: signal.Signals) -> None:
        """Sends `sig` to the child alone, not to its group."""
        if self._process.poll() is None:
            self._process.send_signal(sig)


def stream(command: Command, on_line: Callable[[str], None], *, check: bool = True) -> int:
    """Runs to the end, handing every stdout line to `on_line`.

    Raises:
        CommandFailed: with `check`, on another exit code than 0.
    """
    child = Stream(command)
    try:
        for line in child.lines():
            on_line(line)
        code = child.wait()
    except BaseException:
        child.kill()
        raise
    if check and code:
        raise failed(command, Outcome(returncode=code, stdout="", stderr=child.stderr, seconds=0))
    return code


def pipe(source: Command, sinks: Sequence[Command], on_bytes: Callable[[int], None]) -> None:
    """Feeds what `source` writes to the stdin of every sink, and tells `on_bytes` the sum so far.

    Raises:
        CommandFailed: the first sink that failed, else the source.
    """
    commands = [*sinks, source]
    children = [_piped(command, feeds=command is not source) for command in commands]
    total = 0
    try:
        out = children[-1].stdout
        assert out is not None
        while chunk := out.read(1 << 20):
            for child in children[:-1]:
                assert child.stdin is not None
                with contextlib.suppress(BrokenPipeError):  # a sink that died is reported by its exit code
                    child.stdin.write(chunk)
            total += len(chunk)
            on_bytes(total)
        for child in children[:-1]:
            assert child.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()
        for command, child in zip(commands, children, strict=True):
            code = child.wait()
            if code:
                assert child.stderr is not None
                words = mask(child.stderr.read().decode("utf-8", "replace"), command.secrets)
                raise failed(command, Outcome(returncode=code, stdout="", stderr=words, seconds=0))
    finally:
        for child in children:
            kill_group(child.pid)
            child.wait()
            for stream_ in (child.stdin, child.stdout, child.stderr):
                if stream_:
                    with contextlib.suppress(BrokenPipeError):
                        stream_.close()


def _piped(command: Command, *, feeds: bool) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [find(command.argv[0]), *command.argv[1:]],
        cwd=command.cwd,
        env=environment(command.env),
        stdin=subprocess.PIPE if feeds else subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if feeds else subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
