"""The job on configured nodes: bring what it needs, start it, follow it, stop it.

Order of a run: `configure()` -> `deliver()` -> `start()` -> `follow()` -> `collect.collect_outputs()`. All functions
act on every node at once and can be called again.
"""

from __future__ import annotations

import io
import json
import signal
import tarfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from trainrig.errors import CommandFailed, ConfigureFailed
from trainrig.lifecycle import gang_keys
from trainrig.model.events import LogLine, Observer, Progress
from trainrig.model.node import Node
from trainrig.recovery.node_advice import advice
from trainrig.render import launch as launches
from trainrig.render.launch import SECRET_DIR, UNIT, Launch
from trainrig.tools.ssh import UNREACHABLE, Ssh

POLL = "/usr/local/lib/trainrig/job-poll"
BATCH_LINES = 5000  # the most log lines that job-poll returns at once
FIRST_PAUSE_SECONDS = 0.2
LAST_PAUSE_SECONDS = 1.0
# A job that has said nothing for a minute is asked less often: a worker watches many. A cloud's notice of 30 s still
# leaves its time.
QUIET_AFTER_SECONDS = 60.0
QUIET_PAUSE_SECONDS = 4.0
POLL_SECONDS = 30  # for one answer, of 5000 lines at most
SILENT_SECONDS = 2.0  # a node that has not answered for less than that is not asked about
PEERS_SECONDS = 5.0  # after a rank has failed, in which another one shows why: it failed first, or it is gone
ASLEEP_SECONDS = POLL_SECONDS + 15  # a look that took longer: we did not run, as when a laptop sleeps


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeEnd:
    """How the job ended on one node. `exit_code` None: it did not end by itself, since the node was lost, has booted
    again, or has stopped it."""

    rank: int
    exit_code: int | None
    oom_killed: bool = False
    finished_at: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobEnd:
    """`lost`: a node went away, which is the cloud's doing; `noticed`: one is about to, and the job still runs or has
    ended because it was told to; `failed`: the job's own code said so."""

    verdict: Literal["succeeded", "failed", "noticed", "lost", "stopped"]
    nodes: tuple[NodeEnd, ...]  # those that have ended, in rank order
    lost: tuple[int, ...] = ()  # ranks
    noticed: tuple[int, ...] = ()  # ranks

    @property
    def exit_code(self) -> int | None:
        """Of the rank that failed first: the others fail for want of it. 0 when none did; None when nobody knows."""
        failed = sorted((n for n in self.nodes if n.exit_code), key=lambda n: n.finished_at)
        codes = [n.exit_code for n in failed or self.nodes if n.exit_code is not None]
        return codes[0] if codes else None


@dataclass(kw_only=True, slots=True)
class _Watch:
    """What is known about one node while it is followed."""

    node: Node
    cursor: str = ""
    end: NodeEnd | None = None
    noticed: bool = False
    silent_since: float | None = None  # the first look in a row that it did not answer
    said_at: float = field(default_factory=time.monotonic)  # the last line of the job
    ended_at: float = 0.0  # when that was seen


def halt(ssh: Ssh) -> None:
    """Ends a job that a process started which was killed right after: its files are about to be laid anew, and it must
    not save into the checkpoint that it is to go on from."""
    ssh.each(lambda node: ssh.run(node, ["systemctl", "stop", UNIT]))


def start(ssh: Ssh, launch: Launch, observe: Observer) -> None:
    """Lays environment and scripts on each node's tmpfs and starts the unit. Secrets pass by stdin alone.

    Raises:
        ConfigureFailed: a unit did not start.
    """

    keys = gang_keys.of(launch)
    # The end of an earlier launch takes its secrets along, so it comes before ours are laid.
    stop = f"systemctl stop {UNIT} && umask 077 && mkdir -p {SECRET_DIR} && rm -rf {SECRET_DIR}/*"
    # A bucket that is not mounted would be a plain folder, and what the job writes there would go with the node.
    mounts = [f"{launches.DATA} up {index}" for index, mount in enumerate(launch.job.mounts) if mount.is_bucket]
    begin_job = " && ".join([*mounts, stop, f"tar -xf - -C {SECRET_DIR}", f"systemctl start {UNIT}"])

    def begin(node: Node) -> None:
        secrets = [*launch.job.secrets.values()]
        bundle = _bundle(launch, node, keys.get(node.rank, {}))
        try:
            ssh.run(node, ["sh", "-c", begin_job], stdin=bundle, secrets=secrets)
        except CommandFailed as error:
            raise ConfigureFailed(
                f"{node.name}: the job did not start: {error.message}",
                hint=f"on the node: systemctl status {UNIT}; {advice(error.message)}",
            ) from error
        observe(Progress(phase="run", message=f"started, generation {launch.generation}", node=node.name))

    ssh.each(begin)


def follow(
    ssh: Ssh,
    observe: Observer,
    *,
    lost_seconds: float = 60,
    gone: Callable[[], bool | None] = lambda: None,
    on_silence: Callable[[float], None] = lambda _seconds: None,
    on_tick: Callable[[], bool] = lambda: True,
    cursors: Mapping[int, str] | None = None,
    heed_notice: bool = True,
    on_beat: Callable[[int, Mapping[str, Any]], None] = lambda _rank, _beat: None,
    on_checkpoints: Callable[[int, str | None], None] = lambda _rank, _mark: None,
) -> JobEnd:
    """Emits every log line once, as LogLine, until the job has ended on all nodes or a node is lost.

    A broken connection loses nothing: lines are read from the node's journal after the last one seen. Silence is
    counted from the first look that a node did not answer, and not from its last answer: while we slept, nobody asked.

    Args:
        lost_seconds: a node that has not answered for so long is lost.
        gone: asked while a node does not answer; True, the cloud says that a node is gone, ends the wait.
        on_silence: called once a round while a node does not answer, with the seconds for which the longest has not.
        on_tick: called once a round; False stops the following, and the verdict is `stopped`.
        cursors: rank -> journal cursor to go on from.
        on_beat: hears each rank's heartbeat of the last minute (roles/agent says what is in it); from several threads.
        on_checkpoints: hears each rank's mark of what is in its checkpoint directory, equal while nothing is written
            there, None from a node that gives none; from several threads.
        heed_notice: whether a cloud's notice ends the following; a job that ended well by then has.
    """
    watches = [_Watch(node=node, cursor=(cursors or {}).get(node.rank, "")) for node in ssh.nodes]
    by_rank = {w.node.rank: w for w in watches}
    pause = FIRST_PAUSE_SECONDS
    while True:
        full = ssh.each(lambda node: _poll(ssh, by_rank[node.rank], observe, on_beat, on_checkpoints))
        ends = tuple(w.end for w in watches if w.end)
        if since := [w.silent_since for w in watches if w.silent_since is not None]:
            on_silence(time.monotonic() - min(since))
        lost = _lost(watches, lost_seconds, gone)
        unknown = tuple(e.rank for e in ends if e.exit_code is None)
        if not any(full):
            if lost:
                return JobEnd(verdict="lost", nodes=ends, lost=(*lost, *unknown))
            if len(ends) == len(watches) and all(e.exit_code == 0 for e in ends):
                return JobEnd(verdict="succeeded", nodes=ends)
            noticed = tuple(w.node.rank for w in watches if w.noticed)
            if noticed and heed_notice:
                return JobEnd(verdict="noticed", nodes=ends, noticed=noticed)
            if unknown:
                return JobEnd(verdict="lost", nodes=ends, lost=unknown)
            if _blamed(watches):
                return JobEnd(verdict="failed", nodes=ends)
        # Also while there is more to read: a job that writes faster than we read must still hear of its limits.
        if not on_tick():
            return JobEnd(verdict="stopped", nodes=ends)
        if not any(full):
            time.sleep(pause)
            pause = min(pause * 1.3, _longest_pause(watches))


def _longest_pause(watches: Sequence[_Watch]) -> float:
    said_at = max(w.said_at for w in watches)
    return QUIET_PAUSE_SECONDS if time.monotonic() - said_at > QUIET_AFTER_SECONDS else LAST_PAUSE_SECONDS


def _blamed(watches: Sequence[_Watch]) -> bool:
    """Whether the job itself has failed. A rank that lost its peer fails too: while a node is silent, or may be about
    to show that it was stopped, nobody can say."""
    failed = [w.ended_at for w in watches if w.end and w.end.exit_code]
    if not failed or any(w.silent_since is not None for w in watches):
        return False
    return all(w.end for w in watches) or time.monotonic() - min(failed) >= PEERS_SECONDS


def _lost(watches: Sequence[_Watch], lost_seconds: float, gone: Callable[[], bool | None]) -> tuple[int, ...]:
    """The ranks that do not answer and will not: silent for too long, or gone as the cloud says."""

    def silent(seconds: float) -> tuple[int, ...]:
        now = time.monotonic()
        return tuple(w.node.rank for w in watches if w.silent_since is not None and now - w.silent_since > seconds)

    doubted = silent(SILENT_SECONDS)
    return doubted if doubted and gone() is True else silent(lost_seconds)


def stop(ssh: Ssh, observe: Observer) -> None:
    """Lets the job save and end within its grace; a node that does not answer is passed over."""

    def end(node: Node) -> None:
        ssh.run(node, ["systemctl", "stop", UNIT], check=False)
        observe(Progress(phase="run", message="stopped", node=node.name))

    ssh.each(end)


def send_signal(ssh: Ssh, name: str, *, without: Collection[int] = ()) -> None:
    """A signal (`SIGUSR1`) to the container on every node, which goes on; not to the ranks in `without`."""
    signal.Signals[name]  # a wrong name is our caller's bug: KeyError
    words = ["docker", "kill", f"--signal={name}", launches.CONTAINER]
    ssh.each(lambda node: node.rank in without or ssh.run(node, words, check=False).ok)


def _poll(
    ssh: Ssh,
    watch: _Watch,
    observe: Observer,
    on_beat: Callable[[int, Mapping[str, Any]], None],
    on_checkpoints: Callable[[int, str | None], None],
) -> bool:
    """Takes the node's news; True when there is more to read at once."""
    if watch.end:
        return False
    words, began = [POLL, *([watch.cursor] if watch.cursor else [])], time.monotonic()
    try:
        outcome = ssh.run(watch.node, words, timeout_seconds=POLL_SECONDS, check=False)
        answer = "" if outcome.returncode == UNREACHABLE else outcome.stdout
    except CommandFailed:
        answer = ""  # it hangs, which is one way of not answering
    ended = time.monotonic()
    if not answer:
        if watch.silent_since is None:
            watch.silent_since = began if ended - began < ASLEEP_SECONDS else ended
        return False
    watch.silent_since = None
    # Not splitlines(): the journal leaves in a line what only Python takes for the end of one, such as U+2028.
    head, *entries = answer.removesuffix("\n").split("\n")
    for entry in map(json.loads, entries):
        watch.cursor, watch.said_at = entry["__CURSOR"], ended
        observe(LogLine(rank=watch.node.rank, text=_text(entry.get("MESSAGE")), cursor=watch.cursor))
    if len(entries) >= BATCH_LINES:
        return True
    state = json.loads(head)
    watch.end, watch.ended_at = _end(watch.node.rank, state), ended
    if state.get("heartbeat"):
        on_beat(watch.node.rank, state["heartbeat"])
    on_checkpoints(watch.node.rank, state.get("checkpoints"))
    if state.get("notice") and not watch.noticed:
        watch.noticed = True
        observe(Progress(phase="run", message="the cloud is about to take this node back", node=watch.node.name))
    return False


def _end(rank: int, state: Mapping[str, Any]) -> NodeEnd | None:
    if "exit_code" in state:
        return NodeEnd(
            rank=rank,
            exit_code=None if state.get("stopped") and state["exit_code"] else int(state["exit_code"]),
            oom_killed=bool(state["oom_killed"]),
            finished_at=str(state["finished_at"]),
        )
    # Neither running nor ended: the node has booted again and the launch is gone.
    return NodeEnd(rank=rank, exit_code=None) if state["active"] in {"inactive", "failed", "unknown"} else None


def _text(message: Any) -> str:
    """The journal writes a line with control characters, such as a progress bar's, as a list of bytes."""
    if isinstance(message, list):
        message = bytes(message).decode("utf-8", "replace")
    return str(message or "").rpartition("\r")[2] or str(message or "")


def _bundle(launch: Launch, node: Node, private: Mapping[str, str]) -> bytes:
    """The tar that a node unpacks in its tmpfs: job.env and private files for root alone, scripts for whoever the image
    runs as, and a folder of the container's own where its ranks are many."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        _add(tar, "job.env", launches.env_file(launches.environment(launch, node)), 0o600)
        for name, text in private.items():
            _add(tar, f"mpi/{name}", text, 0o600)
        _add_folder(tar, "scripts", 0o755)
        for name, text in launches.scripts(launch, node).items():
            _add(tar, f"scripts/{name}", text, 0o755)
        if launch.job.launch == "mpi":
            for folder in ("gang", "gang/asked", "gang/codes", "gang/ranks"):
                _add_folder(tar, folder, 0o777)
    return out.getvalue()


def _add_folder(tar: tarfile.TarFile, name: str, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, mode
    tar.addfile(info)


def _add(tar: tarfile.TarFile, name: str, text: str, mode: int) -> None:
    data = text.encode()
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    tar.addfile(info, io.BytesIO(data))
