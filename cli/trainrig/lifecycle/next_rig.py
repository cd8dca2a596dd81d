"""Makes ready what would come next, while a node is silent and nobody knows yet whether it is lost.

The root of the next candidate is rendered and initialised, and thrown away: what takes long then is done, which is that
Terraform downloads the providers of another cloud. No cloud is asked for machines.
"""

from __future__ import annotations

import shutil
import threading

from trainrig.errors import RigError
from trainrig.lifecycle import admitted, run_facts
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.order import order_of
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.events import Progress

FOLDER = "next"  # in the rig's own, while it is being prepared


class NextRig:
    """Of one generation of a run, which is prepared once."""

    def __init__(self, run: RunContext, generation: int) -> None:
        self._run = run
        self._generation = generation
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Returns at once. A failure is said, and is the business of whoever applies."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._prepare, daemon=True, name=f"next-{self._run.run_id}")
            self._thread.start()

    def _prepare(self) -> None:
        self._run.observe(Progress(phase="recover", message="a node is silent: the next rig is made ready"))
        root = self._run.rig.path / FOLDER
        try:
            with self._run.opened() as context:
                prepare(context, self._run, self._generation)
        except RigError as error:
            self._run.observe(Progress(phase="recover", message=f"the next rig is not ready: {error.message}"))
        finally:
            shutil.rmtree(root, ignore_errors=True)


def prepare(context: Context, run: RunContext, generation: int) -> None:
    """Renders and initialises the first candidate that a recovery would try.

    Raises:
        RigError: it cannot be rendered, or Terraform cannot get its providers.
    """
    candidates = tuple(admitted.with_room(context.journal, run, run_facts.candidates(context, run, None)))
    if not candidates:
        return
    root = run.rig.path / FOLDER
    shutil.rmtree(root, ignore_errors=True)  # of a process that was killed
    order = order_of(
        context,
        run.job,
        run.environment,
        candidates,
        identity=run.identity,
        rig=run.rig,
        generation=generation + 1,
    )
    order.make_root(candidates[0], root, f"{generation + 1}-1")
    with context.terraform(root, candidates[0].offer.cloud) as terraform:
        terraform.init().check()
