"""What the steps of one run share inside one process. Everything that must outlive it is in the journal or on disk."""

from __future__ import annotations

import json
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trainrig import settings
from trainrig.errors import RigUnknown
from trainrig.lifecycle import context as contexts
from trainrig.lifecycle.checkpoint_stores import store_of
from trainrig.model.codec import build
from trainrig.model.environment import Environment
from trainrig.model.events import Observer
from trainrig.model.job import Job
from trainrig.model.placement import Placement
from trainrig.model.rig import RigIdentity
from trainrig.placement.admission import Wish, wish_of
from trainrig.recovery.stores import CheckpointStore
from trainrig.render.job_document import plain
from trainrig.reports import placement_json
from trainrig.store.journal import Journal
from trainrig.store.workdir import RigDir, write_atomic


class Left(BaseException):
    """This process ends, and its runs do not: what was not ended is taken up by another process. Not an Exception,
    since DBOS would take one for the result of the step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContext:
    """`stop` asks the steps to end early and safely, and so the run; `leave` asks them to let go of a run that goes on
    elsewhere; `observe` hears what happens."""

    identity: RigIdentity
    job: Job
    environment: Environment
    placement: Placement
    observe: Observer
    stop: threading.Event = field(default_factory=threading.Event)
    leave: threading.Event = field(default_factory=threading.Event)

    @property
    def run_id(self) -> str:
        return self.identity.run_id

    @property
    def rig(self) -> RigDir:
        return RigDir.of(settings.home(), self.identity)

    @property
    def checkpoints(self) -> CheckpointStore:
        """Opened anew each time; asks nobody yet."""
        return store_of(self.job, self.environment, self.run_id, self.rig.path)

    @property
    def outputs(self) -> Path:
        return self.rig.path / "outputs"

    @property
    def logs(self) -> Path:
        """One file a rank, kept after the rig is gone."""
        return self.rig.path / "logs"

    def go_on(self) -> None:
        """Raises Left when this process shall let go of the run."""
        if self.leave.is_set():
            raise Left

    def again(self) -> RunContext:
        """The same run as the journal has it now."""
        found = load(settings.home(), self.run_id, self.observe)
        return replace(found, stop=self.stop, leave=self.leave)

    def wish(self) -> Wish:
        """What its queue asks the limits for."""
        return wish_of(self.run_id, self.environment, self.placement.candidates)

    def opened(self) -> AbstractContextManager[contexts.Context]:
        """The rig's context for one step: a SQLite connection belongs to the thread that opened it."""
        opened: AbstractContextManager[contexts.Context] = contexts.opened(self.environment, observe=self.observe)
        return opened


def save(context: RunContext) -> None:
    """Writes down what `load` needs, before anything is asked of a cloud."""
    context.rig.create()
    for name, document in documents(context).items():
        write_atomic(context.rig.path / name, (json.dumps(document, indent=1) + "\n").encode())


def documents(context: RunContext) -> dict[str, Any]:
    """What is decided about a run, by file name.

    Of secrets only references are written; one that was given as a value is looked for in the environment variable of
    its name by whoever goes on with the run.
    """
    return {
        "job.json": {**plain(context.job), "secrets": references(context.job)},
        "environment.json": plain(context.environment),
        "placement.json": placement_json.to_document(context.placement),
    }


def references(job: Job) -> dict[str, str]:
    """Where the values of a job's secrets are found, without any value."""
    return {n: f"env:{n}" if r.startswith("value:") else r for n, r in sorted(job.secrets.items())}


def load(home: Path, name_or_run_id: str, observe: Observer) -> RunContext:
    """A run that an earlier process began.

    Raises:
        RigUnknown: no such run, or what it needs to go on is not on this machine.
    """
    journal = Journal(home)
    try:
        written = journal.find(name_or_run_id)
    finally:
        journal.close()
    identity = written.identity
    rig = RigDir.of(home, identity)
    try:
        job = json.loads(rig.job.read_text(encoding="utf-8"))
        environment = json.loads((rig.path / "environment.json").read_text(encoding="utf-8"))
        placement = json.loads(rig.placement.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RigUnknown(
            f"{identity.name} was not started by trainrig run, or its folder is gone: {error.filename}",
            hint=f"trainrig destroy --run-id {identity.run_id} removes what may be left of it",
        ) from None
    stop = threading.Event()
    if written.details.get("cancel"):
        stop.set()
    return RunContext(
        identity=identity,
        job=build(Job, job),
        environment=build(Environment, environment),
        placement=placement_json.from_document(placement),
        observe=observe,
        stop=stop,
    )
