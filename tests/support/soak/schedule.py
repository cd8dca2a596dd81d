"""One seed: a run on the stub cloud, and all that goes wrong around it at moments that the seed chooses."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from support import crash, stub_rigs
from support.receiver import Receiver
from support.soak.harms import Harms
from support.soak.plan import MOST_KILLS, Plan, Seen
from support.soak.settings import NAME, note
from support.stub_cloud import objects
from trainrig.lifecycle import run, run_context, run_engine
from trainrig.lifecycle.context import opened
from trainrig.lifecycle.status import status
from trainrig.model.clock import utc_now
from trainrig.model.events import silent
from trainrig.reports import status_json, status_text
from trainrig.store import locks
from trainrig.store.journal import Journal
from trainrig.store.workdir import RigDir

PATIENCE_SECONDS = 75.0
LOOK_SECONDS = 0.02


class Soak:
    def __init__(self, site: crash.Site, seed: int, hook: Receiver) -> None:
        self.plan, self.site = Plan.of(seed), site
        self.chance = random.Random(seed * 7919 + 1)
        self.seen = Seen(hook=hook)
        self._over = threading.Event()
        self._started = 0
        site.env.update(LIMITS=json.dumps(self.plan.limits), HOOK=hook.url)
        if self.plan.plugin:
            site.env["STUB_PLUGIN"] = "1"
        self.plan.play.lay()

    def play(self) -> Seen:
        """To the end of the run, or of our patience."""
        harms = Harms(self.site.home, self.plan.seed, self._over, self._second)
        with self._beside(self._witness), self._beside(self._look), self._beside(harms.play):
            self._carry_out()
        return self.seen

    def _carry_out(self) -> None:
        kills, verb = self.plan.kills, "begin"
        if self.plan.queued:
            self._end(self._start("queue"), "queue")
            verb = "worker"
        ending = self.plan.aim if self.plan.aim in {"cancel", "destroy"} else ""
        for _ in range(3 * MOST_KILLS):
            process = self._start(verb, may_die=kills > 0)
            code: int | None = None
            if kills > 0 or ending:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = process.wait(self.chance.uniform(0.5, 9.0))
                if code is None and ending == "cancel":
                    ending = ""
                    self._ask_to_end(process)
                    if self.chance.random() < 0.5:
                        with contextlib.suppress(subprocess.TimeoutExpired):
                            process.wait(self.chance.uniform(0.1, 3.0))
                        process.kill()
                elif code is None:
                    note("kill", verb=verb)
                    process.kill()
            code = self._end(process, verb)
            if code != -signal.SIGKILL and self._let_end():
                return
            kills -= 1
            if ending == "destroy" and self.chance.random() < 0.7:
                ending = ""
                self._destroy()
            verb = self.chance.choice(["resume", "resume", "worker"]) if self._known() else "begin"
            if self._known() and self._ended_as_kept():
                return
        self.seen.complaints.append("it does not end")

    def _let_end(self) -> bool:
        """Whether the run has ended, once nobody carries it out any more."""
        if not self._known():
            self.seen.began = False  # it was asked to end before it wrote anything down
            return self.seen.asked_to_end
        (rig,) = self._rigs()
        until = time.monotonic() + PATIENCE_SECONDS
        while locks.held(RigDir.of(self.site.home, rig.identity).path) and time.monotonic() < until:
            time.sleep(0.2)
        if not RigDir.of(self.site.home, rig.identity).job.exists():  # killed before it was written down whole
            self.seen.began = False
            return self._end(self._start("destroy", NAME), "destroy") == 0
        return self._ended_as_kept()

    def _ask_to_end(self, process: subprocess.Popen[bytes]) -> None:
        self.seen.asked_to_end = True
        note("asked to end")
        if self.chance.random() < 0.5:
            process.send_signal(signal.SIGINT)
        else:
            self._end(self._start("cancel", NAME), "cancel")

    def _destroy(self) -> None:
        """As a person would, after a kill: perhaps killed itself in the middle."""
        self.seen.asked_to_end = True
        note("destroyed by hand")
        process = self._start("destroy", NAME)
        if self.chance.random() < 0.4:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(self.chance.uniform(0.3, 3.0))
            process.kill()
        self._end(process, "destroy")

    def _start(self, verb: str, *words: str, may_die: bool = False) -> subprocess.Popen[bytes]:
        self._started += 1
        more = {"resume": (NAME, "--format", "json", "-v"), "worker": ("--until-empty", "--format", "json")}.get(
            verb, words
        )
        die = {"MAY_DIE": f"{self.plan.seed}-{self._started}"} if may_die else {}
        stem = self.site.home.parent / f"{self._started:02d}-{verb}"
        note("process", verb=verb, number=self._started)
        with stem.with_suffix(".out").open("wb") as out, stem.with_suffix(".err").open("wb") as err:
            return subprocess.Popen(
                [sys.executable, "-m", "support.soak.driver", verb, *more],
                env={**self.site.env, **die},
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def _end(self, process: subprocess.Popen[bytes], verb: str) -> int:
        try:
            code = process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.seen.complaints.append(f"{verb} has not ended in {PATIENCE_SECONDS:.0f} s")
            process.send_signal(signal.SIGABRT)
            code = process.wait()
        self.seen.codes.append((verb, code))
        note("ended", verb=verb, code=code)
        for path in self.site.home.parent.glob("*.out"):
            for line in path.read_text().splitlines():
                with contextlib.suppress(ValueError):
                    document = json.loads(line)
                    if document.get("schema") == "trainrig.run/1" and document not in self.seen.documents:
                        self.seen.documents.append(document)
        for path in self.site.home.parent.glob("*.err"):
            said = path.read_text()
            asked = said.rstrip().endswith("KeyboardInterrupt")  # while it was loaded
            if "Traceback" in said and not asked:
                self.seen.complaints.append(f"a traceback in {path.name}")
        return code

    def _second(self) -> None:
        self._end(self._start("resume"), "second")

    def _known(self) -> bool:
        return (self.site.home / "trainrig.db").exists() and bool(self._rigs())

    def _ended_as_kept(self) -> bool:
        """Whether the run has ended for the engine; then so says its document, whether or not somebody was told."""
        (rig,) = self._rigs()
        with run_engine.client() as client:
            known = client.list_workflows(workflow_ids=[rig.run_id])
        if not known:
            self.seen.began = not rig.clean  # it was destroyed before it began
            return bool(rig.clean)
        if known[0].status in run_engine.ACTIVE:
            return False
        if known[0].output is None:
            self.seen.complaints.append(f"the workflow ended as {known[0].status}: {known[0].error}")
            return True
        document = run.result_of(run_context.load(self.site.home, rig.run_id, silent), known[0].output).document
        if document["end"] not in {d["end"] for d in self.seen.documents}:
            self.seen.documents.append(dict(document))
        return True

    def _rigs(self) -> tuple[Any, ...]:
        with contextlib.closing(Journal(self.site.home)) as journal:
            return journal.rigs(all_rigs=True)

    @contextlib.contextmanager
    def _beside(self, work: Callable[[], None]) -> Iterator[None]:
        def guarded() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001
                self.seen.complaints.append(f"{work.__name__}: {type(error).__name__}: {error}")

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _witness(self) -> None:
        """When each machine was there, by the cloud's own folder."""
        while True:
            over = self._over.is_set()
            there = {o["id"]: o for o in objects.everything() if o["type"] == "stub_node"}
            now = time.time()
            for ident, found in there.items():
                self.seen.machines.setdefault(ident, {**found, "seen": now, "gone": None})
            for ident, known in self.seen.machines.items():
                if ident not in there and known["gone"] is None:
                    known["gone"] = now
            if over:
                return
            time.sleep(LOOK_SECONDS)

    def _look(self) -> None:
        """Somebody who asks for the status all the time."""
        while not self._over.wait(0.4):
            if (self.site.home / "trainrig.db").exists():
                with opened(stub_rigs.ENVIRONMENT) as context:
                    for rig in context.journal.rigs(all_rigs=True):
                        found = status(context, rig, ask_cloud=self.chance.random() < 0.2)
                        status_json.status_document([found])
                        status_text.rigs([found], utc_now()), status_text.costs([found])
                        self.seen.statuses += 1
