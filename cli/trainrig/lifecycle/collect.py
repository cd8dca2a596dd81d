"""Brings home what the job wrote, with checksums, and takes checkpoints to new nodes."""

from __future__ import annotations

import time
from collections import ChainMap
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from trainrig.errors import CommandFailed
from trainrig.lifecycle import snapshot
from trainrig.model.events import Observer, Progress
from trainrig.model.job import Job
from trainrig.model.node import Node
from trainrig.render import launch as launches
from trainrig.tools import rsync
from trainrig.tools.ssh import UNREACHABLE, Ssh

FLUSH_SECONDS = 900  # 50 GB of cache at half a gigabit a second
FLUSH_LOOK_SECONDS = 5  # after which the node says what is left
COPIED = launches.NODE_DIR / "copied"  # outputs that the container alone finds


def collect_outputs(ssh: Ssh, job: Job, target: Path, observe: Observer) -> dict[str, Path]:
    """The job's outputs from every node that has them; name -> local path of the lowest rank's.

    `target/NAME` is rank 0's, `target/rank-N/NAME` another node's. What the job does not name but wrote into /outputs
    comes too, as `target/files`. An output that no node has is missing from the result, which is said.

    Raises:
        CommandFailed: a copy failed or differs from the node's file.
    """

    def collect(node: Node) -> dict[str, Path]:
        base = target if node.rank == ssh.nodes[0].rank else target / f"rank-{node.rank}"
        found = {}
        for name, path in _on_node(ssh, node, job).items():
            if _exists(ssh, node, path):
                found[name] = _fetch(ssh, node, path, base / name)
                observe(Progress(phase="collect", message=name, node=node.name))
        return found

    collected = dict(ChainMap(*ssh.each(collect)))
    for name, path in job.outputs.items():
        if name not in collected:
            observe(Progress(phase="collect", message=f"no output {name}: the job has not written {path}"))
    return collected


def collect_checkpoints(ssh: Ssh, target: Path, observe: Observer) -> int:
    """Each node's checkpoints into `target/rank-N`; returns the number of files. Checked by sha256.

    Raises:
        CommandFailed: a copy failed or differs: a file that the job writes in place does; call again.
    """
    source = str(snapshot.SNAPSHOT)
    stamps = snapshot.take(ssh)

    def fetch(node: Node) -> int:
        local = target / f"rank-{node.rank}"
        with snapshot.unchanged(ssh, node, stamps[node.rank]):
            rsync.pull(ssh, node, f"{source}/", local, mirror=True)
            count = rsync.verify(ssh, node, source, local)
        observe(Progress(phase="collect", message=f"{count} checkpoint files", node=node.name))
        return count

    return sum(ssh.each(fetch))


def save_times(ssh: Ssh, since: float) -> tuple[float, float | None]:
    """When the newest file of the last copy was written, and how long its save took, by the nodes' clocks: from the
    first new file that was begun to the last that was ended. None: nothing new was begun after `since`, which is so
    for files that are written over in place, or the file system keeps no times of birth."""
    # Not find's own %B: it has been seen to know no birth where stat does.
    script = f'find {snapshot.SNAPSHOT} -type f -exec stat -c "%.9W %.9Y" {{}} +'

    def times(node: Node) -> list[tuple[float, ...]]:
        return [tuple(map(float, line.split())) for line in ssh.run(node, ["sh", "-c", script]).stdout.splitlines()]

    found = [pair for pairs in ssh.each(times) for pair in pairs]
    newest = max((written for _, written in found), default=0.0)
    # A birth of 0 is unknown; a file that is older than its birth was not written here, but given back.
    begun = [birth for birth, written in found if written >= birth > since]
    return newest, max(0.0, newest - min(begun)) if begun else None


def restore_checkpoints(ssh: Ssh, source: Path, observe: Observer) -> None:
    """The reverse: `source/rank-N`, where it is there, to the node of that rank."""

    def send(node: Node) -> None:
        local = source / f"rank-{node.rank}"
        if local.is_dir():
            rsync.push(ssh, node, local, str(launches.NODE_DIR / "checkpoints"))
            observe(Progress(phase="deliver", message="checkpoints", node=node.name))

    ssh.each(send)


def flush_mounts(ssh: Ssh, job: Job, observe: Observer, stopped: Callable[[], bool] = lambda: False) -> None:
    """Waits until what the job wrote to mounts is in its bucket, and says what is not yet. For a job that has ended:
    one that writes on is never done.

    Args:
        stopped: True ends the wait; what has been true from the start does not, since the job of a run that was
            cancelled has saved, too.

    Raises:
        CommandFailed: a bucket did not get what was written to it in time, with what rclone says of it.
    """
    if not any(mount.is_written for mount in job.mounts):
        return
    heeds = not stopped()
    deadline = time.monotonic() + FLUSH_SECONDS

    def flush(node: Node) -> None:
        said = "the last of what was written to mounts"
        while True:
            observe(Progress(phase="collect", message=said, node=node.name))
            last = said
            while said == last:
                words = [launches.DATA, "flush", str(FLUSH_LOOK_SECONDS)]
                outcome = ssh.run(node, words, check=False, timeout_seconds=FLUSH_LOOK_SECONDS + 60)
                if outcome.ok:
                    return
                said = outcome.stderr.strip()
                if outcome.returncode == UNREACHABLE or time.monotonic() > deadline or (heeds and stopped()):
                    raise CommandFailed(f"{node.name}: {said}")

    ssh.each(flush)


def _on_node(ssh: Ssh, node: Node, job: Job) -> dict[str, str]:
    """Output name -> path on the node."""
    paths: dict[str, str] = {}
    for name, path in job.outputs.items():
        there = launches.node_path(job, path)
        if there is None or _leads_away(ssh, node, there):
            paths[name] = f"{COPIED}/{name}"
            copy = f'mkdir -p {COPIED} && rm -rf "$2" && docker cp --follow-link "{launches.CONTAINER}:$1" "$2"'
            ssh.run(node, ["sh", "-c", copy, "sh", launches.container_path(path), paths[name]], check=False)
        else:
            paths[name] = str(there)
    unnamed = str(launches.NODE_DIR / "outputs")
    return paths if unnamed in paths.values() else {"files": unnamed, **paths}


def _leads_away(ssh: Ssh, node: Node, path: PurePosixPath) -> bool:
    """Whether links lead to what is no folder of the job's there: their paths are those of the container."""
    script = f'case "$(realpath -m "$1")" in "$(realpath {launches.NODE_DIR})"/*) exit 1 ;; esac'
    return ssh.run(node, ["sh", "-c", script, "sh", str(path)], check=False).ok


def _exists(ssh: Ssh, node: Node, path: str) -> bool:
    """A node that does not answer is an error, and not one that has no such output. Who reads a pipe waits for ever."""
    outcome = ssh.run(node, ["test", "-f", path, "-o", "-d", path], check=False)
    if outcome.returncode not in {0, 1}:
        raise CommandFailed(f"{node.name} does not answer: {outcome.stderr.strip()}")
    return outcome.ok


def _fetch(ssh: Ssh, node: Node, path: str, local: Path) -> Path:
    """A file or a directory of the node to the path `local`, checked."""
    if ssh.run(node, ["test", "-d", path], check=False).ok:
        rsync.pull(ssh, node, f"{path}/", local)
        rsync.verify(ssh, node, path, local)
        return local
    rsync.pull(ssh, node, path, local)
    file = local / Path(path).name
    sums = ssh.run(node, ["sha256sum", path], timeout_seconds=rsync.patience_seconds(file))
    digest = sums.stdout.removeprefix("\\").split()[0]  # the name is odd where it begins so
    if rsync.file_sum(file) != digest:
        raise CommandFailed(f"{node.name}: {path} changed while it was copied")
    return file
