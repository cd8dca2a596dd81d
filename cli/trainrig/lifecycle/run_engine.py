"""The engine under all runs: DBOS, on the SQLite file of TRAINRIG_HOME or on the PostgreSQL of TRAINRIG_DATABASE_URL.

Every workflow that is not begun directly lies on a queue with exactly one taker, so a process never plays a run that it
was not given:

* `runs-<home>` holds the runs that wait. Nobody listens to it; lifecycle/worker.py moves them.
* `<executor>` is a process's own queue: what a worker has taken, or the run that `trainrig resume` goes on with.

The id of an executor is new for each process: DBOS recovers by executor at its start and would put what it finds on a
queue that all processes listen to.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from dbos import DBOS, DBOSClient, DBOSConfig, WorkflowHandle
from sqlalchemy.exc import SQLAlchemyError

from trainrig import settings
from trainrig.errors import PreflightFailed, StateTooNew

APPLICATION = "trainrig"
DATABASE = "workflows.sqlite"
# Raised when the steps or their order change, so that an old run is not played with new steps.
WORKFLOW_VERSION = "4"
ACTIVE = ("ENQUEUED", "PENDING")  # of a workflow that has not ended
POLL_SECONDS = 0.2
CONNECT_SECONDS = 10


def database_url() -> str:
    return settings.database_url() or f"sqlite:///{settings.home() / DATABASE}"


def executor_id(stem: str) -> str:
    """Starts with what it is of: `run-<run id>` or `worker-<host>`."""
    return f"{stem}-{secrets.token_hex(4)}"


@contextmanager
def launched(executor: str) -> Iterator[None]:
    """DBOS in this process, which takes what lies on the executor's own queue and nothing else.

    Raises:
        PreflightFailed: the database does not answer.
    """
    url = database_url()
    _reach(url)
    logging.getLogger("dbos").setLevel(logging.CRITICAL)
    config = DBOSConfig(
        name=APPLICATION,
        system_database_url=url,
        executor_id=executor,
        application_version=WORKFLOW_VERSION,
        log_level="CRITICAL",
    )
    DBOS(config=config)
    DBOS.listen_queues([executor])
    try:
        try:
            DBOS.launch()
        except SQLAlchemyError as error:
            raise _unusable(url, error) from error
        yield
    finally:
        DBOS.destroy()


@contextmanager
def client() -> Iterator[DBOSClient]:
    """The database, without a thread of DBOS in this process: to put something on a queue.

    Raises:
        PreflightFailed: the database does not answer.
    """
    url = database_url()
    _reach(url)
    logging.getLogger("dbos").setLevel(logging.CRITICAL)
    try:
        DBOS.migrate(url)
        found = DBOSClient(system_database_url=url, application_name=APPLICATION)
    except SQLAlchemyError as error:
        raise _unusable(url, error) from error
    try:
        yield found
    finally:
        found.destroy()


@contextmanager
def own_queue(executor: str, *, poll_seconds: float = POLL_SECONDS) -> Iterator[None]:
    """The executor's queue, for as long as its process takes from it."""
    DBOS.register_queue(executor, polling_interval_sec=poll_seconds, on_conflict="always_update")
    try:
        yield
    finally:
        DBOS.delete_queue(executor)


def take(run_id: str, executor: str) -> WorkflowHandle[dict[str, object]]:
    """Puts a run that no living process carries out on the executor's queue. The caller has seen to it that none does.

    Raises:
        StateTooNew: it was begun by a version of trainrig whose steps differ.
    """
    known = DBOS.get_workflow_status(run_id)
    if known is not None and known.app_version != WORKFLOW_VERSION:
        raise StateTooNew(
            f"run {run_id} was begun by another version of trainrig (its steps {known.app_version},"
            f" these {WORKFLOW_VERSION})",
            hint=f"go on with it with that version, or trainrig destroy --run-id {run_id}",
        )
    handle: WorkflowHandle[dict[str, object]] = DBOS.resume_workflow(run_id, queue_name=executor)
    return handle


def _reach(url: str) -> None:
    """DBOS waits for a database that is away; whoever begins a run wants to know."""
    if not url.startswith("postgresql"):
        settings.home().mkdir(parents=True, exist_ok=True, mode=0o700)
        return
    import psycopg

    try:
        # The database itself may not exist yet, and DBOS makes it: only the server's own words tell that apart.
        psycopg.connect(url, connect_timeout=CONNECT_SECONDS).close()
    except psycopg.OperationalError as error:
        if "does not exist" not in str(error):
            raise _unusable(url, error) from error


def _unusable(url: str, error: Exception) -> PreflightFailed:
    """Says where, never the user or the password."""
    parts = urlsplit(url)
    words = (str(error).strip() or type(error).__name__).splitlines()[0]
    place = f"{parts.hostname}:{parts.port or 5432}" if parts.hostname else parts.query or parts.path
    return PreflightFailed(
        f"the database at {place} does not answer: {words}",
        hint="TRAINRIG_DATABASE_URL is postgresql://USER:PASSWORD@HOST:PORT/NAME; without it, runs are kept in SQLite",
    )
