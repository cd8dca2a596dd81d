"""Who carries checkpoints between a rig's nodes and the run's store: the nodes themselves where they can, else this
machine.

A node that may write to the bucket sends its files straight to it, and says only what they are; the commit, which is a
few hundred bytes, is made here in either case, since it is what a generation is fenced by.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from trainrig.errors import CommandFailed, CredentialsMissing, StoreFailed
from trainrig.lifecycle import collect, rig_request, run_facts, snapshot
from trainrig.lifecycle.checkpoint_stores import files_url
from trainrig.lifecycle.run_context import RunContext
from trainrig.lifecycle.secret_values import store_variables
from trainrig.model.clock import utc_now
from trainrig.model.events import Observer, Progress, silent
from trainrig.model.node import Node
from trainrig.recovery.checkpoint import Entry, FileEntry, Manifest, entries_from, entries_to
from trainrig.recovery.stores import CheckpointStore
from trainrig.recovery.work import PROGRESS
from trainrig.store.checkpoint_bucket import CheckpointBucket
from trainrig.store.journal import Attempt
from trainrig.tools import rsync
from trainrig.tools.ssh import Ssh

E = TypeVar("E", bound=Entry)

PROGRAM = "/usr/local/lib/trainrig/checkpoints"
STORE_FAILED = 3  # its exit code when the bucket did not do its part
LIST_SECONDS = 1800  # in which a node reads all that is new on its disk
MOST_PROGRESS = 4096  # bytes of what a job says of itself


class Courier(Protocol):
    """Between the nodes of one rig and one store."""

    def commit(self, *, generation: int) -> Manifest | None:
        """Makes what the nodes have now the newest checkpoint; None when nothing is there or nothing changed.

        Raises:
            CommandFailed: a node does not answer, or the job was writing.
            StoreFailed: the store does not take it.
            RigBusy: the generation is fenced off.
        """
        ...

    def progress(self) -> str | None:
        """What the job wrote of itself into the files that were committed last."""
        ...

    def restore(self, observe: Observer) -> tuple[Manifest | None, list[str]]:
        """Gives the nodes the newest checkpoint whose files all match; and in words why newer ones were passed over.

        Raises:
            CommandFailed: a node does not answer.
            StoreFailed: the store does not.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ThisMachine:
    """Over the rig's own SSH, by way of `staging`; works with every store and on every cloud."""

    ssh: Ssh
    store: CheckpointStore
    run_id: str
    staging: Path

    def commit(self, *, generation: int) -> Manifest | None:
        if not collect.collect_checkpoints(self.ssh, self.staging, silent):
            return None
        return self.store.commit(self.staging, run_id=self.run_id, generation=generation, now=utc_now())

    def progress(self) -> str | None:
        """What the lowest rank says that says anything."""
        files = sorted(self.staging.glob(f"rank-*/{PROGRESS}"))
        try:
            return files[0].read_text(encoding="utf-8") if files else None
        except (OSError, UnicodeDecodeError):
            return None

    def restore(self, observe: Observer) -> tuple[Manifest | None, list[str]]:
        newest, skipped = self.store.newest()
        if newest is None:
            return None, skipped
        collect.restore_checkpoints(self.ssh, newest.files, observe)
        return newest.manifest, skipped


@dataclass(frozen=True, kw_only=True, slots=True)
class TheNodes:
    """By rclone and their own identity, or `keys`, variables of the job. `url`: where files lie under their sha256."""

    ssh: Ssh
    store: CheckpointBucket
    run_id: str
    url: str
    keys: Mapping[str, str]

    def commit(self, *, generation: int) -> Manifest | None:
        stamps = snapshot.take(self.ssh)

        def send(missing: Mapping[str, FileEntry]) -> None:
            self.ssh.each(lambda node: self._send(node, _of(node, missing), stamps[node.rank]))

        words = ["list", str(snapshot.SNAPSHOT)]
        found = self.ssh.each(lambda node: (node.rank, entries_from(self._asked(node, words, LIST_SECONDS))))
        files = {f"{_rank(rank)}/{path}": entry for rank, entries in found for path, entry in entries.items()}
        return self.store.commit_sent(files, send, run_id=self.run_id, generation=generation, now=utc_now())

    def progress(self) -> str | None:
        """What the lowest rank says that says anything."""
        words = ["head", "-c", str(MOST_PROGRESS), str(snapshot.SNAPSHOT / PROGRESS)]
        for node in self.ssh.nodes:
            said = self.ssh.run(node, words, check=False)
            if said.ok:
                return said.stdout
        return None

    def restore(self, observe: Observer) -> tuple[Manifest | None, list[str]]:
        skipped: list[str] = []
        begun = False
        for identity, manifest, faults in self.store.committed():
            if manifest is not None and not faults:
                begun, faults = True, self._fetch(manifest.files, observe)
                if not faults:
                    return manifest, skipped
            skipped.append(f"checkpoint {identity}: {'; '.join(faults[:3])}")
        if begun:
            self._fetch({}, silent)  # a job must not find half of one
        return None, skipped

    def _send(self, node: Node, files: Mapping[str, FileEntry], stamps: str) -> None:
        with snapshot.unchanged(self.ssh, node, stamps):
            if files:
                self._asked(node, ["send", str(snapshot.SNAPSHOT), self.url], _patience(files), files)

    def _fetch(self, files: Mapping[str, Entry], observe: Observer) -> list[str]:
        """What is wrong with them, in words."""

        def fetch(node: Node) -> list[str]:
            own = _of(node, files)
            wrong = self._asked(node, ["fetch", str(snapshot.SOURCE), self.url], _patience(own), own)
            observe(Progress(phase="deliver", message="checkpoints", node=node.name))
            return [f"{_rank(node.rank)}/{path} does not match its sha256" for path in wrong]

        return [words for found in self.ssh.each(fetch) for words in found]

    def _asked(self, node: Node, words: list[str], patience: float, files: Mapping[str, Entry] | None = None) -> Any:
        document = None if files is None else {"files": entries_to(files), "env": dict(self.keys)}
        outcome = self.ssh.run(
            node,
            [PROGRAM, *words],
            stdin=None if document is None else json.dumps(document).encode(),
            timeout_seconds=patience,
            # Without keys nothing is masked: one that is also part of a file's name would make it another.
            secrets=() if document is None else tuple(self.keys.values()),
            check=False,
        )
        if outcome.ok:
            return json.loads(outcome.stdout or "null")
        why = (outcome.stderr.strip().splitlines() or [f"exit code {outcome.returncode}"])[-1]
        if outcome.returncode == STORE_FAILED:
            raise StoreFailed(f"checkpoint store {self.url}: {node.name} cannot reach it: {why}")
        raise CommandFailed(f"{node.name}: {why}")


def courier_of(run: RunContext, attempt: Attempt, ssh: Ssh) -> Courier:
    """The one for the nodes of an attempt."""
    store = run.checkpoints
    offer = run_facts.candidate_of(run.placement, attempt).offer
    if isinstance(store, CheckpointBucket) and rig_request.bucket_of(run.job, run.environment, run.identity, offer):
        url = files_url(run.job, run.environment, run.run_id)
        # The job's keys may be missing on a machine that goes on with a run: what it holds itself then has to do.
        with suppress(CredentialsMissing):
            keys = store_variables(run.job, os.environ)
            return TheNodes(ssh=ssh, store=store, run_id=run.run_id, url=url, keys=keys)
    staging = run.rig.path / "staging" / str(attempt.generation)
    return ThisMachine(ssh=ssh, store=store, run_id=run.run_id, staging=staging)


def _rank(rank: int) -> str:
    return f"rank-{rank}"


def _of(node: Node, files: Mapping[str, E]) -> dict[str, E]:
    """Those of a node, by their paths on it."""
    own = f"{_rank(node.rank)}/"
    return {path.removeprefix(own): entry for path, entry in files.items() if path.startswith(own)}


def _patience(files: Mapping[str, Entry]) -> float:
    """Seconds that a node may take to read and send, or to fetch them."""
    size = sum(f.size for f in files.values() if isinstance(f, FileEntry))
    return rsync.STALLED_SECONDS + size / rsync.SLOWEST_BYTES_SECOND
