"""What clouds, stores, nodes and people do to a run while it is carried out."""

from __future__ import annotations

import contextlib
import json
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.soak import played_store
from support.soak.settings import SAVE_EVERY, STEPS, chain, note
from support.stub_cloud import objects
from trainrig.errors import RigBusy, StoreFailed
from trainrig.model.clock import utc_now
from trainrig.store.db import FILE
from trainrig.store.journal import Journal
from trainrig.store.workdir import RigDir, write_atomic


class Harms:
    """`over` ends them; `resume` starts another process at the run, and waits for it."""

    def __init__(self, home: Path, seed: int, over: threading.Event, resume: Callable[[], None]) -> None:
        self._home, self._over, self._resume = home, over, resume
        self.chance = random.Random(seed * 31 + 7)

    def play(self) -> None:
        harms = [
            self._preempt,
            self._preempt,
            self._notice,
            self._full,
            self._stumble,
            self._slow,
            self._late,
            self._no_delete,
            self._no_store,
            self._zombie,
            self._second,
        ]
        preempted = 0
        for _ in range(self.chance.choice([1, 2, 3, 5, 7])):
            if self._over.wait(self.chance.uniform(0.5, 4.0)):
                return
            harm = self.chance.choice(harms)
            if harm in (self._preempt, self._notice):
                preempted += 1
                if preempted > 3:
                    continue
            note("harm", kind=harm.__name__.strip("_"))
            harm()

    def _victim(self) -> str | None:
        """The id of a machine, some time after there is one."""
        for _ in range(20):
            found = [o["id"] for o in objects.everything() if o["type"] == "stub_node"]
            if self._over.wait(self.chance.uniform(0, 3.0) if found else 0.5):
                return None
            if found:
                return str(self.chance.choice(found))
        return None

    def _preempt(self, ident: str | None = None) -> None:
        ident = ident or self._victim()
        with contextlib.suppress(FileNotFoundError):
            (objects.root() / "objects" / f"{ident}.json").unlink()

    def _notice(self) -> None:
        if ident := self._victim():
            node = objects.root() / "nodes" / ident
            node.mkdir(parents=True, exist_ok=True)
            (node / "notice").touch()
            self._over.wait(self.chance.uniform(0.5, 4.0))
            self._preempt(ident)

    def _full(self) -> None:
        """No machines in one zone, or, once a first rig was up, anywhere, for a while."""
        words: objects.Fault = {"op": "create", "type": "stub_node", "error": "InsufficientCapacity", "times": 6}
        everywhere = self._was_up() and self.chance.random() < 0.5
        objects.order(words if everywhere else {**words, "zone": self.chance.choice(["z-a", "z-b"]), "times": 8})

    def _was_up(self) -> bool:
        return any(a.state in {"up", "gone"} and a.node_list for r in self._rigs() for a in self._attempts(r.run_id))

    def _attempts(self, run_id: str) -> tuple[Any, ...]:
        with contextlib.closing(Journal(self._home)) as journal:
            return journal.attempts(run_id)

    def _stumble(self) -> None:
        objects.order(
            {"op": "create", "error": self.chance.choice(["NotYetVisible", "DependencyViolation"]), "times": 1}
        )

    def _slow(self) -> None:
        objects.order(
            {"op": "create", "type": "stub_node", "sleep": 0.8, "times": 4},
            {"op": "delete", "type": "stub_node", "sleep": 0.8, "times": 4},
        )

    def _late(self) -> None:
        """The machine comes although the cloud said that it does not."""
        lost = self.chance.random() < 0.5
        objects.order(
            {"op": "create", "type": "stub_node", "error": "NotYetVisible", "after": True, "lost": lost, "times": 1}
        )

    def _no_delete(self) -> None:
        objects.order(
            {"op": "delete", "error": self.chance.choice(["DependencyViolation", "NotYetVisible"]), "times": 2}
        )

    def _no_store(self) -> None:
        if not self._was_up():  # a store that does not answer at the start is a refusal
            return
        away = played_store.away()
        away.touch()
        self._over.wait(self.chance.uniform(0.3, 3.0))
        away.unlink()

    def _zombie(self) -> None:
        """A node of an earlier generation that is still alive commits what it has."""
        for rig in self._rigs():
            last = max((a.generation for a in self._attempts(rig.run_id)), default=0)
            folder = RigDir.of(self._home, rig.identity).path
            store = played_store.store_of(None, None, rig.run_id, folder, who="zombie")
            source = self._home.parent / "zombie"
            step = self.chance.randrange(1, STEPS // SAVE_EVERY) * SAVE_EVERY
            for rank in (0, 1):
                document = json.dumps({"step": step, "digest": chain(step)})
                write_atomic(source / f"rank-{rank}" / f"step-{step}.json", document.encode())
            if last > 1:
                with contextlib.suppress(RigBusy, StoreFailed):
                    store.commit(source, run_id=rig.run_id, generation=last - 1, now=utc_now())

    def _second(self) -> None:
        """Another process wants the run while the first lives, perhaps."""
        if self._rigs():
            self._resume()

    def _rigs(self) -> tuple[Any, ...]:
        if not (self._home / FILE).exists():
            return ()
        with contextlib.closing(Journal(self._home)) as journal:
            return journal.rigs(all_rigs=True)
