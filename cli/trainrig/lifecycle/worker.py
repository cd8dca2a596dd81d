"""A worker: takes runs from the queue and carries them out, several at once; goes on with those of dead workers.

Any number of workers, on one machine or on several that share TRAINRIG_HOME and the database. One dispatcher at a time
moves runs (a lock in TRAINRIG_HOME): from the queue to a worker that has room, and from a process that is dead back to
the queue. Dead is who holds no lock any more, which the kernel sees to, at kill -9 too; there is no heartbeat to miss.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any

from dbos import DBOS
from sqlalchemy.exc import SQLAlchemyError

from trainrig.console import masked
from trainrig.errors import Interrupted, PreflightFailed, RigBusy, RigError, RigUnknown
from trainrig.lifecycle import admitted, queue, run_context, run_engine, run_workflow
from trainrig.lifecycle.run import RunResult, result_of
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.clock import iso, utc_now
from trainrig.model.events import Event, Progress, silent
from trainrig.placement.admission import Verdict, Wish, admit
from trainrig.store import locks
from trainrig.store.journal import Journal, Rig
from trainrig.store.workdir import RigDir
from trainrig.tools import interrupt

LOOK_SECONDS = 1.0
DISPATCH = "queue"  # the folder whose lock the dispatcher holds
WORKERS = "workers"  # one folder a worker, locked while it lives


@dataclass(frozen=True, kw_only=True, slots=True)
class Worker:
    """`runs`: how many at once. `say` hears what happens, by line; `ended` how each run ended."""

    home: Path
    runs: int
    say: Callable[[str], None]
    ended: Callable[[RunResult], None]
    wishes: dict[str, Wish] = field(default_factory=dict)  # of runs that wait: what was written down does not change

    def work(self, *, until_empty: bool = False) -> None:
        """Returns at SIGINT or SIGTERM, once the steps that cannot be left have ended; a run that trains goes on, and
        the next worker watches it. With `until_empty`, also when no run waits or is carried out by any worker.

        Raises:
            PreflightFailed: the database does not answer, or its runs lie in another TRAINRIG_HOME.
        """
        executor = run_engine.executor_id(f"worker-{socket.gethostname()}")
        leave = threading.Event()
        own = self.home / WORKERS / executor
        with (
            _asked_to_leave(leave, self.say),
            locks.hold(own, "worker"),
            run_engine.launched(executor),
            run_engine.own_queue(executor, poll_seconds=LOOK_SECONDS),
            run_workflow.serving(lambda run_id: self._opened(run_id, leave), self._ended),
        ):
            waiting = queue.waiting(self.home)
            self._only_our_home(waiting)
            self.say(f"takes up to {self.runs} runs at once from the queue of {self.home}")
            try:
                while not leave.is_set() and not (self._dispatch(executor, waiting) and until_empty):
                    leave.wait(LOOK_SECONDS)
            finally:
                # Also when something went wrong: a step that is torn down with its process leaves Terraform behind.
                leave.set()
                while run_workflow.playing():
                    time.sleep(0.1)
        shutil.rmtree(own, ignore_errors=True)

    def _opened(self, run_id: str, leave: threading.Event) -> RunContext:
        log = _RunLog()
        run = run_context.load(self.home, run_id, log)
        log.path = run.rig.log
        self.say(f"{run.identity.name} (run {run_id}): carried out here")
        return replace(run, leave=leave)

    def _ended(self, run: RunContext, how: Mapping[str, Any] | RigError) -> None:
        if isinstance(how, RigError):
            self.say(f"{run.identity.name} (run {run.run_id}): {how.message}\nhint: {how.hint}")
            return
        result = result_of(run, how)
        why = f": {result.error.message}" if result.error else ""
        self.say(f"{run.identity.name} (run {run.run_id}): {result.document['end']}{why}")
        self.ended(result)

    def _dispatch(self, executor: str, waiting: str) -> bool:
        """Moves what can be moved; True when no run waits and no worker has one."""
        try:
            with locks.hold(self.home / DISPATCH, "dispatch", wait_seconds=LOOK_SECONDS):
                self._bring_back(waiting)
                active = [w for w in _active() if w.queue_name == waiting or _is_worker(w.queue_name)]
                room = self.runs - sum(w.queue_name == executor for w in active)
                if room > 0:
                    queued = [w.workflow_id for w in active if w.queue_name == waiting]
                    for run_id in itertools.islice(self._admitted(queued), room):
                        run_engine.take(run_id, executor)
                return not active
        except RigBusy:
            return False  # another worker is at it
        except SQLAlchemyError as error:
            self.say(f"the database does not answer, tried again: {str(error).splitlines()[0]}")
            return False

    def _admitted(self, queued: list[str]) -> Iterator[str]:
        """Those of the runs that wait that may begin now, with their room taken before they are named."""
        with contextlib.closing(Journal(self.home)) as journal:
            # What came back from a dead process has its room, and others have had none since.
            again = [run_id for run_id in queued if admitted.DETAIL in journal.rig(run_id).details]
            yield from again
            wishes = (self._wish(run_id) for run_id in queued if run_id not in again)
            for verdict in admit(wishes, admitted.uses(journal)):
                if verdict.use is not None:
                    admitted.take(journal, verdict.run_id, verdict.use)
                    yield verdict.run_id
                else:
                    self._waits_for(journal, verdict)

    def _wish(self, run_id: str) -> Wish:
        if run_id not in self.wishes:
            self.wishes[run_id] = run_context.load(self.home, run_id, silent).wish()
        return self.wishes[run_id]

    def _waits_for(self, journal: Journal, verdict: Verdict) -> None:
        """For `trainrig status`; a line for each change alone."""
        if journal.rig(verdict.run_id).details.get("waits_for") != list(verdict.full):
            journal.update_details(verdict.run_id, waits_for=list(verdict.full))

    def _bring_back(self, waiting: str) -> None:
        """What dead processes were at waits again; first in line, since the order is when a run was first queued."""
        lives = functools.cache(self._lives)  # for this look: one holder has many runs
        for workflow in _active():
            # Taken and not begun, it has its taker's queue; begun, its taker's name.
            holder = workflow.queue_name if workflow.status == "ENQUEUED" else workflow.executor_id
            if holder == waiting or (_is_worker(holder) and lives(holder)):
                continue
            rig = self._rig(workflow.workflow_id)
            if rig is None:
                continue  # of another TRAINRIG_HOME
            # Holding its lock, nobody else can be at it, or begin to be.
            with contextlib.suppress(RigBusy), locks.hold(RigDir.of(self.home, rig.identity).path, "dispatch"):
                self.say(f"{rig.name} (run {rig.run_id}): {holder} is dead, another goes on")
                run_engine.take(workflow.workflow_id, waiting)
        for folder in (self.home / WORKERS).glob("worker-*"):
            if not self._lives(folder.name):
                DBOS.delete_queue(folder.name)
                shutil.rmtree(folder, ignore_errors=True)

    def _lives(self, worker: str) -> bool:
        folder = self.home / WORKERS / worker
        return folder.is_dir() and locks.held(folder)

    def _rig(self, run_id: str) -> Rig | None:
        with contextlib.closing(Journal(self.home)) as journal:
            try:
                return journal.rig(run_id)
            except RigUnknown:
                return None

    def _only_our_home(self, waiting: str) -> None:
        """Runs of another TRAINRIG_HOME cannot be carried out from this one: what they need lies there."""
        others = [w for w in _active() if w.queue_name != waiting and str(w.queue_name).startswith(queue.PREFIX)]
        with contextlib.closing(Journal(self.home)) as journal:
            known = bool(journal.rigs(all_rigs=True))
        if others and not known:
            raise PreflightFailed(
                f"{len(others)} runs of this database wait, and they lie in another TRAINRIG_HOME than {self.home}",
                hint="a worker carries out the runs of its own TRAINRIG_HOME: share that folder between the machines",
            )


class _RunLog:
    """What a worker does for one run, in the run's own trainrig.log. The job's lines go to its log files."""

    path: Path | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, Progress) and self.path is not None:
            words = f"{event.node}: {event.message}" if event.node else event.message
            with self.path.open("a", encoding="utf-8") as file:
                file.write(masked(f"{iso(utc_now())} {event.phase}: {words}", guess=True) + "\n")


def _is_worker(name: str | None) -> bool:
    return (name or "").startswith("worker-")


def _active() -> list[Any]:
    """Workflows that have not ended, in the order in which they were begun or queued."""
    found: list[Any] = DBOS.list_workflows(
        status=list(run_engine.ACTIVE), app_version=run_engine.WORKFLOW_VERSION, load_input=False, load_output=False
    )
    return found


@contextlib.contextmanager
def _asked_to_leave(leave: threading.Event, say: Callable[[str], None]) -> Iterator[None]:
    """The first signal asks; the second ends the process at once, as kill -9 would, and another worker goes on."""

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        if leave.is_set():
            os._exit(Interrupted.exit_code)
        say("ends once its runs can be left to another worker; once more ends it at once")
        leave.set()

    before = {s: signal.signal(s, on_signal) for s in interrupt.SIGNALS if signal.getsignal(s) is not signal.SIG_IGN}
    try:
        yield
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)
