"""Keys of the job file by which a run survives: checkpoints, recovery, guards, and who is told."""

from __future__ import annotations

from typing import Final

from trainrig.model.job import ACTS, EVENTS
from trainrig.spec.forms import (
    BOOLEAN,
    CONTAINER_PATH,
    DATA_SIZE,
    DURATION,
    REFERENCE,
    USD,
    integer,
)
from trainrig.spec.job_forms import BUCKET_URL, read_resume
from trainrig.spec.resources import STRATEGIES
from trainrig.spec.tables import Form, Key, Table, list_of, one_of

SIGNALS: Final = ("SIGTERM", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGHUP")

CHECKPOINTS: Final = Table(
    title="`checkpoints`",
    keys=(
        Key(name="path", form=CONTAINER_PATH, meaning="Directory in the container", required=True),
        Key(name="interval", form=DURATION, meaning="How often the job writes one; lost work is priced from it"),
        Key(name="size", form=DATA_SIZE, meaning="Of one checkpoint"),
        Key(name="save_signal", form=one_of(*SIGNALS), meaning="Sent when a preemption is announced"),
        Key(
            name="resume",
            form=Form(read=read_resume, shows="`resume`, `fresh`, `from: RUN`", schema={"type": ["string", "object"]}),
            meaning="Which checkpoint a new run begins with",
        ),
        Key(name="keep", form=integer(1, 1000), meaning="How many are kept; 3 when not given"),
        Key(name="store", form=BUCKET_URL, meaning="Instead of the environment's"),
    ),
    short=CONTAINER_PATH,
    short_key="path",
)

MOVE: Final = Table(
    title="`recovery.move`",
    keys=(
        Key(
            name="min_saving",
            form=USD,
            meaning="What must be saved over the work left, the cost of the move paid; 1 USD when not given",
        ),
        Key(name="wait", form=DURATION, meaning="The job stays at least so long in one place; 1h when not given"),
        Key(name="max_moves", form=integer(1, 10000), meaning="How often at most"),
    ),
    short=BOOLEAN,
    short_key="wanted",
)

RECOVERY: Final = Table(
    title="`recovery`",
    keys=(
        Key(
            name="max_recoveries",
            form=integer(0, 10000),
            meaning="Without it, spend, deadline and progress are the limits",
        ),
        Key(
            name="on_exit_codes",
            form=list_of(integer(1, 255)),
            meaning="Exit codes that are recovered from like a preemption",
        ),
        Key(
            name="max_restarts_on_errors",
            form=integer(0, 1000),
            meaning="How often a job that failed by itself is started again",
        ),
        Key(name="strategy", form=one_of(*STRATEGIES), meaning="Where to look first"),
        Key(name="move", form=MOVE, meaning="Move to a cheaper approved place while the job runs; off when not given"),
    ),
)

_DO: Final = Key(
    name="do",
    form=one_of(*ACTS),
    meaning="`warn` (default) tells; `checkpoint` commits one and tells; `stop` lets the job save, brings home what it "
    "made and destroys; `destroy` does so at once",
)


def _after(title: str) -> Table:
    after = Key(name="after", form=DURATION, meaning="For so long without a break", required=True)
    return Table(title=title, keys=(after, _DO), short=DURATION, short_key="after")


IDLE: Final = _after("`idle`")
DISK_USE: Final = Table(
    title="`disk`",
    keys=(Key(name="above", form=integer(1, 99), meaning="Percent of a node's disk in use", required=True), _DO),
    short=integer(1, 99),
    short_key="above",
)
GUARDS: Final = Table(
    title="`guards`",
    keys=(
        Key(name="idle", form=IDLE, meaning="The job runs, and no GPU of any node is busier than 5 percent"),
        Key(name="silence", form=_after("`silence`"), meaning="The job writes no line to its log"),
        Key(
            name="disk",
            form=DISK_USE,
            meaning="A node's disk is nearly full",
        ),
    ),
)

NOTIFY: Final = Table(
    title="`notify`",
    keys=(
        Key(
            name="webhook",
            form=REFERENCE,
            meaning="Where the URL is found that gets the events; never the URL itself",
            required=True,
        ),
        Key(name="events", form=list_of(one_of(*EVENTS)), meaning="Which; all when not given"),
    ),
)
