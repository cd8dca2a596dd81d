"""The queue of runs: put one on it, with all that a worker on another machine needs to carry it out.

What travels how: the place in the queue and the steps that have ended lie in the database. The job, its placement, its
working directory and local files, its lock, and later state, checkpoints, logs and outputs, lie in the run's folder in
TRAINRIG_HOME, which all workers share. Secrets travel nowhere: each worker finds them by their references.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dbos import EnqueueOptions

from trainrig import settings
from trainrig.errors import ConfigureFailed, RigError, Unplaceable
from trainrig.lifecycle import pins, run_engine, run_workflow
from trainrig.lifecycle.deliver import kept_back
from trainrig.lifecycle.run_context import RunContext, save
from trainrig.model.job import Job
from trainrig.placement.admission import admit
from trainrig.store.home_id import home_id
from trainrig.tools import rsync

PREFIX = "runs-"
FOLDER = "queued"  # below the rig's folder: what the job had on the machine that queued it


def waiting(home: Path) -> str:
    """The name of the queue of the runs that wait and lie in this TRAINRIG_HOME."""
    return f"{PREFIX}{home_id(home)}"


def put(run: RunContext) -> None:
    """Puts a run that is written down on the queue. Its local files are copied, so what was queued is what runs.

    Raises:
        Unplaceable: it is larger than the limits, and would wait for ever.
        PreflightFailed: the database does not answer.
        ConfigureFailed: a local file of the job is not there.
    """
    (verdict,) = admit([run.wish()], [])
    if verdict.use is None:
        raise Unplaceable(
            f"{run.identity.name} would wait for ever: {'; '.join(verdict.full)}",
            hint="raise max_gpus in the environment, or ask for less",
        )
    save(replace(run, job=_carried(run.job, run.rig.path / FOLDER)))
    with run.opened() as context:
        context.journal.update_details(run.run_id, queued=True)
    with run_engine.client() as client:
        queue = waiting(settings.home())
        client.register_queue(queue, on_conflict="never_update")
        client.enqueue(
            EnqueueOptions(
                workflow_name=run_workflow.queued_workflow.__qualname__,
                queue_name=queue,
                workflow_id=run.run_id,
                app_version=run_engine.WORKFLOW_VERSION,
            ),
            run.run_id,
        )


def _carried(job: Job, folder: Path) -> Job:
    """The job with its local files below `folder`."""
    changes: dict[str, object] = {}
    if job.workdir and not _remote(job.workdir):
        changes["workdir"] = str(_copied(Path(job.workdir), folder / "workdir", ignore=True))
    changes["mounts"] = tuple(
        m
        if not m.source or _remote(m.source)
        else replace(m, source=str(_copied(Path(m.source).expanduser(), folder / f"mount-{n}", ignore=False)))
        for n, m in enumerate(job.mounts)
    )
    lock = pins.lock_path(job)
    if lock.is_file():
        _copied(lock, folder / "job", ignore=False)
        changes["source"] = str(folder / "job" / (Path(job.source).name if job.source else "job.yaml"))
    return replace(job, **changes)  # type: ignore[arg-type]


def _remote(source: str) -> bool:
    return "://" in source or source.startswith("git@")


def _copied(source: Path, folder: Path, *, ignore: bool) -> Path:
    """A directory's contents in `folder`, or a file in it; where the copy is."""
    if not source.exists():
        raise ConfigureFailed(f"{source} is not there", hint="check workdir and file_mounts in the job file")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        rsync.copy(source, folder, ignore=ignore, kept_back=kept_back())
    except RigError as error:
        raise ConfigureFailed(
            f"{source} could not be copied into {folder}: {error.message}", hint=error.hint
        ) from error
    return folder if source.is_dir() else folder / source.name
