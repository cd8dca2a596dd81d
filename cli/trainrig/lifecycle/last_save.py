"""What can still be saved once a cloud has announced that it takes a node back.

Signal, wait for the save, commit, stop, commit what the stop has saved, send what was written to mounts: all of it
within the cloud's notice. What does not fit is lost, and nothing else is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from trainrig.errors import CommandFailed, StoreFailed
from trainrig.lifecycle import job_control
from trainrig.lifecycle.checkpoint_sync import CheckpointSync
from trainrig.model.node import Node
from trainrig.render.launch import CONTAINER, DATA, NODE_DIR
from trainrig.tools.ssh import Ssh

HEARD_LATE_SECONDS = 4  # the agent asks every two seconds, and is asked every one
COPY_SHARE = 3  # one part in three of the notice is for the copy
AFTER_SAVE_SECONDS = 5  # a job that has saved already is not waited for longer
LOOK_SECONDS = 0.5
UNREACHABLE_SECONDS = 10  # for one command on a node that may vanish at any moment

_NOTICE = "/run/trainrig-agent/notice.json"
_MARK = "/run/trainrig/save-asked"
# `yes`: something was written since the mark. Then what there is, to see whether it still changes.
_STATE = (
    f"cd {NODE_DIR}/checkpoints || exit; "
    f'[ -n "$(find . -type f -newer {_MARK} | head -n 1)" ] && echo yes; '
    'find . -type f -printf "%p %s %T@\\n" | sort'
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    something: bool  # the job wrote since the notice
    seconds: float


def save_and_stop(
    ssh: Ssh,
    sync: CheckpointSync,
    *,
    notice_seconds: float,
    save_signal: str | None,
    noticed: Collection[int],
    clock: Callable[[], float] = time.monotonic,
) -> Saved:
    """Takes about as long as the job needs to save and the copy to arrive. The job has ended afterwards, as far as its
    nodes answer.

    Args:
        save_signal: the job's own; None: the SIGTERM of the stop is all the notice that it gets.
        noticed: ranks whose agent has already sent the signal.
    """
    began, before = clock(), sync.committed
    ends = began + max(notice_seconds - HEARD_LATE_SECONDS, 1)
    copy = (ends - began) / COPY_SHARE
    if save_signal:
        _mark(ssh)
        job_control.send_signal(ssh, save_signal, without=noticed)
    sync.stop()
    # A round of the periodic copy may have committed it already: what counts is that the job has written.
    saved = bool(save_signal) and _wait_until_saved(ssh, ends - copy, clock)
    _commit(sync)
    patience = ends - copy - clock()
    if saved:
        patience = min(patience, AFTER_SAVE_SECONDS)
    _stop(ssh, max(1, int(patience)))
    while not _commit(sync) and clock() < ends:
        time.sleep(LOOK_SECONDS)
    _flush(ssh, int(ends - clock()))
    return Saved(something=saved or sync.committed > before, seconds=clock() - began)


def _wait_until_saved(ssh: Ssh, until: float, clock: Callable[[], float]) -> bool:
    """Until a node has written since the signal and none writes any more (True), or the job has ended."""
    last: list[str] | None = None
    while clock() < until:
        states = ssh.each(lambda node: _ask(ssh, node, _STATE))
        if last == states and any(s.startswith("yes\n") for s in states):
            return True
        last = states
        if not any(ssh.each(lambda node: bool(_ask(ssh, node, f"docker ps -q --filter name={CONTAINER}").strip()))):
            return False
        time.sleep(LOOK_SECONDS)
    return False


def _mark(ssh: Ssh) -> None:
    """Where the agent has sent the signal, its notice is the mark: it wrote that down right before."""
    ssh.each(lambda node: _ask(ssh, node, f"touch -r {_NOTICE} {_MARK} 2>/dev/null || touch {_MARK}"))


def _stop(ssh: Ssh, seconds: int) -> None:
    """SIGTERM to the container on every node, and its end after that time at the latest."""
    ssh.each(lambda node: _ask(ssh, node, f"docker stop --time={seconds} {CONTAINER}", seconds + UNREACHABLE_SECONDS))


def _flush(ssh: Ssh, seconds: int) -> None:
    """What the job wrote to buckets that are mounted gets there with what time is left."""
    line = f"test ! -x {DATA} || {DATA} flush {seconds}"
    if seconds > 0:
        ssh.each(lambda node: _ask(ssh, node, line, seconds + UNREACHABLE_SECONDS))


def _ask(ssh: Ssh, node: Node, script: str, seconds: float = UNREACHABLE_SECONDS) -> str:
    try:
        return ssh.run(node, ["sh", "-c", script], timeout_seconds=seconds, check=False).stdout
    except CommandFailed:
        return ""  # it hangs: it may be gone by now


def _commit(sync: CheckpointSync) -> bool:
    """False: a node or the store did not answer, or the copy differs from what was being written."""
    try:
        sync.commit_now()
    except (CommandFailed, StoreFailed):
        return False
    return True
