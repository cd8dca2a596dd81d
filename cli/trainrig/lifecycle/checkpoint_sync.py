"""Commits the checkpoints of a running job to the run's store.

A checkpoint counts once it is committed; one that the job is still writing changes under the copy, is noticed by its
checksums, and is taken in the next round. Whoever watches the job says when its nodes have something new: a round costs
several processes here, and one worker watches many jobs that write once an hour.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass
from decimal import Decimal

from trainrig.errors import CommandFailed, RigBusy, StoreFailed
from trainrig.lifecycle import collect
from trainrig.lifecycle.checkpoint_courier import Courier
from trainrig.model.events import Observer, Progress
from trainrig.model.job import Checkpoints
from trainrig.recovery.checkpoint import CheckpointId, Manifest
from trainrig.recovery.stores import CheckpointStore
from trainrig.recovery.work import progress_of
from trainrig.tools.ssh import Ssh

PAUSE_SECONDS = 5.0  # between rounds, when the job does not say how often it writes
# A round takes its share of the node's network and disk: copying is at most a third of the time.
PAUSE_PER_ROUND = 2
# A copy that fails once or twice is of a checkpoint in the making. More in a row: nothing that the job writes is safe.
PATIENT_ROUNDS = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Save:
    """A checkpoint that was committed. `saved_at`: when the job had written it, `seconds`: how long that took,
    `progress`: how far the job says that it is in it."""

    id: CheckpointId
    saved_at: float  # seconds since the epoch, by the node's clock
    seconds: float | None
    progress: Decimal | None = None  # 0 to 1


class CheckpointSync:
    """Commits in a thread of its own between `start` and `stop`."""

    def __init__(
        self,
        ssh: Ssh,
        store: CheckpointStore,
        courier: Courier,
        *,
        generation: int,
        checkpoints: Checkpoints | None,
        observe: Observer,
    ) -> None:
        self._ssh = ssh
        self._store = store
        self._courier = courier
        self._generation = generation
        wanted = checkpoints or Checkpoints(path="")
        self._keep = wanted.keep
        minutes = wanted.interval_minutes
        self._pause = PAUSE_SECONDS if minutes is None else min(PAUSE_SECONDS, float(minutes) * 60)
        self._observe = observe
        self._stopped = threading.Event()
        self._news = threading.Event()  # there may be something that no round has copied
        self._marks: dict[int, str] = {}  # rank -> what its node had when it was last looked at
        self._round_lock = threading.Lock()
        self._thread = threading.Thread(target=self._loop, name="checkpoints", daemon=True)
        self.committed = 0  # by this object, not by earlier generations
        self.saves: deque[Save] = deque()  # for the journal, which is another thread's
        self._newest = 0.0
        self.failing = False  # the last round of the thread's

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """No more rounds; waits for the one that runs."""
        self._stopped.set()
        self._news.set()
        self._thread.join()

    def looked_at(self, rank: int, mark: str | None) -> None:
        """What a node's checkpoints look like; another mark than before asks for a round, and so does None."""
        if mark is None or self._marks.get(rank) != mark:
            if mark is not None:
                self._marks[rank] = mark
            self._news.set()

    def commit_now(self) -> bool:
        """One round, now, by the caller: after a save signal, or when the job has ended. True: something was new.

        Raises:
            CommandFailed: a node does not answer, the job is still writing, or the copy has no room here.
            StoreFailed: the store does not take it.
            RigBusy: a later generation has taken over.
        """
        with self._round_lock:
            try:
                manifest = self._commit()
            except OSError as error:  # a full disk of this machine is no reason to give up the job
                raise CommandFailed(str(error)) from error
        if manifest is None:
            return False
        self._observe(Progress(phase="run", message=f"checkpoint {manifest.id} is safe"))
        return True

    def _commit(self) -> Manifest | None:
        manifest = self._courier.commit(generation=self._generation)
        if manifest is not None:
            self.committed += 1
            self._note(manifest.id)
            self._store.prune(self._keep)  # last: it may fail, and the checkpoint is safe all the same
        return manifest

    def _note(self, identity: CheckpointId) -> None:
        try:
            self._newest, seconds = collect.save_times(self._ssh, self._newest)
            said = self._courier.progress()
        except CommandFailed:
            return  # it is committed all the same
        progress = None if said is None else progress_of(said)
        self.saves.append(Save(id=identity, saved_at=self._newest, seconds=seconds, progress=progress))

    def _loop(self) -> None:
        failed = 0  # rounds in a row; said once, not every round of an outage
        while self._news.wait() and not self._stopped.is_set():
            self._news.clear()  # before the copy: what is written meanwhile is for the next round
            began = time.monotonic()
            try:
                self.commit_now()
                failed, self.failing = 0, False
            except (CommandFailed, StoreFailed) as error:
                failed, self.failing = failed + 1, True
                self._news.set()
                if failed == (1 if isinstance(error, StoreFailed) else PATIENT_ROUNDS):
                    self._observe(Progress(phase="run", message=f"no checkpoint is safe now: {error.message}"))
            except RigBusy as error:
                self._observe(Progress(phase="run", message=error.message))
                return
            self._stopped.wait(max(self._pause, PAUSE_PER_ROUND * (time.monotonic() - began)))
