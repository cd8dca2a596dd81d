"""Tells a run's webhook what becomes of it: in the background, in order, with a bound, and never at the run's cost."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainrig.console import hide, masked
from trainrig.errors import CommandFailed, CredentialsMissing, TryLater
from trainrig.lifecycle import run_facts
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.events import Progress
from trainrig.model.job import Job
from trainrig.reports import event_json
from trainrig.store import ledger
from trainrig.tools import webhook

PAUSES_SECONDS = (1.0, 3.0)  # between the tries
FLUSH_SECONDS = 20.0  # what the end of a run waits for its last words

_tellers: dict[str, _Teller] = {}
_lock = threading.Lock()


def url_of(job: Job) -> str | None:
    """Where the job's events go; None: nowhere.

    Raises:
        CredentialsMissing: the reference leads to nothing.
    """
    if job.notify is None:
        return None
    kind, _, rest = job.notify.webhook.partition(":")
    path = Path(rest).expanduser()
    found = os.environ.get(rest) if kind == "env" else path.read_text("utf-8") if path.is_file() else None
    if not (found or "").strip():
        raise CredentialsMissing(
            f"the webhook of {job.name} is missing: {job.notify.webhook}",
            hint="set it where trainrig runs, or leave `notify` out",
        )
    hide([str(found).strip()])
    return str(found).strip()


def tell(
    context: Context,
    run: RunContext,
    event: str,
    message: str,
    *,
    generation: int,
    exit_code: int | None = None,
    detail: str = "",
) -> None:
    """Hands an event over and returns at once."""
    if run.job.notify is None or event not in run.job.notify.events:
        return
    attempts = context.journal.attempts(run.run_id)
    document = event_json.document(
        event,
        run.identity,
        at=context.now(),
        generation=generation,
        message=masked(message, guess=True),
        offer=run_facts.candidate_of(run.placement, attempts[-1]).offer if attempts else None,
        cost_usd=ledger.cost(context.journal, run.run_id, context.now()),
        exit_code=exit_code,
        detail=detail,
    )
    with _lock:
        if run.run_id not in _tellers:
            _tellers[run.run_id] = _Teller(run)
        _tellers[run.run_id].put(document)


def flush(run: RunContext, *, seconds: float = FLUSH_SECONDS) -> None:
    """Waits until all is told or given up, within a bound, and lets go of the run."""
    with _lock:
        teller = _tellers.pop(run.run_id, None)
    if teller is not None:
        teller.end(seconds)


class _Teller:
    """One thread a run, so that a slow receiver of one run keeps no other waiting, and events stay in order."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._queue: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True, name=f"notify-{run.run_id}")
        self._thread.start()

    def put(self, document: Mapping[str, Any]) -> None:
        self._queue.put(document)

    def end(self, seconds: float) -> None:
        self._queue.put(None)
        self._thread.join(seconds)

    def _work(self) -> None:
        while (document := self._queue.get()) is not None:
            try:
                self._post(document)
            except (CommandFailed, CredentialsMissing) as error:
                message = f"{document['event']} was not told: {error.message}"
                self._run.observe(Progress(phase="run", message=message))

    def _post(self, document: Mapping[str, Any]) -> None:
        url = url_of(self._run.job)
        assert url is not None
        for pause in PAUSES_SECONDS:
            try:
                webhook.post(url, document)
            except TryLater:
                time.sleep(pause)
            else:
                return
        webhook.post(url, document)
