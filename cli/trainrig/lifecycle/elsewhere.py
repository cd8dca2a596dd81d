"""Looks, while a job runs, for approved places that are cheaper now than where it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from trainrig.clouds import registry
from trainrig.errors import RigError
from trainrig.lifecycle import admitted, quotes, run_facts
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.place import costs_of
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.events import Event, Observer, Progress
from trainrig.model.fault import FaultClass
from trainrig.model.offer import Market
from trainrig.model.placement import Candidate
from trainrig.placement import limits, moving
from trainrig.placement.moving import Place
from trainrig.recovery.decide import may_move
from trainrig.recovery.facts import Elsewhere, Facts
from trainrig.render.images import option_of
from trainrig.store import cooldowns
from trainrig.store.journal import Attempt

LOOK_SECONDS = 300.0
LOOKS_A_WAIT = 4  # a job that moves after a short wait is looked after more often
SHORTEST_LOOK_SECONDS = 5.0
MOST_ASKED = 5  # the cheapest by the catalogue; a cloud is asked about each of them
RESTS = {FaultClass.CAPACITY, FaultClass.QUOTA}
REST = timedelta(hours=1)  # of a place that refused this run or took a rig back; twice as long each further time
LONGEST_REST = timedelta(hours=24)


class Lookout:
    """Looks in a thread of its own every few minutes, so that a cloud that is slow to answer holds up nothing."""

    def __init__(self, run: RunContext, attempt: Attempt) -> None:
        self._run = replace(run, observe=_once(run.observe))
        self._attempt = attempt
        self._found: tuple[Elsewhere, ...] = ()
        self._thread: threading.Thread | None = None
        self._looked: float | None = None

    def seen(self, facts: Facts) -> Facts:
        """The facts with what the last look has found; begins another one when it is time, and when a move could
        follow at all."""
        if not may_move(facts):
            return facts
        assert facts.move is not None
        every = min(LOOK_SECONDS, max(facts.move.wait_seconds / LOOKS_A_WAIT, SHORTEST_LOOK_SECONDS))
        busy = self._thread is not None and self._thread.is_alive()
        if not busy and (self._looked is None or time.monotonic() - self._looked >= every):
            self._looked = time.monotonic()
            self._thread = threading.Thread(
                target=self._look, args=(facts,), daemon=True, name=f"elsewhere-{self._run.run_id}"
            )
            self._thread.start()
        return replace(facts, elsewhere=self._found)

    def _look(self, facts: Facts) -> None:
        try:
            with self._run.opened() as context:
                self._found = tuple(look(context, self._run, self._attempt, facts))
        except RigError as error:
            self._found = ()
            self._run.observe(Progress(phase="run", message=f"prices elsewhere are not known: {error.message}"))


def look(context: Context, run: RunContext, attempt: Attempt, facts: Facts) -> Iterator[Elsewhere]:
    """The approved places where the run has room, that do not rest and cost less an hour than it pays now, with what a
    move there saves over the work left. A place whose cloud does not answer is left out."""
    assert facts.work_left_hours is not None
    costs = costs_of(run.environment)
    store = (run.job.checkpoints.store if run.job.checkpoints else None) or run.environment.checkpoint_store
    here = _here(context, run, attempt)
    for number, there in _cheaper(context, run, here):
        if limits.price_cap(there.option, run.environment, there.offer):
            continue
        if not moving.no_worse_wish(run.job, run.environment, here, there):
            continue
        way = moving.way(run.job, here, there, hours_left=facts.work_left_hours, costs=costs, store=store)
        if way is not None:
            offer = there.offer
            yield Elsewhere(
                candidate=number,
                where=f"{offer.cloud} {offer.place} {offer.instance_type} {offer.market}",
                market=offer.market,
                here_hour_usd=here.hour_usd,
                there_hour_usd=there.hour_usd,
                saving_usd=way.saving_usd,
                cost_usd=way.cost_usd,
            )


def _here(context: Context, run: RunContext, attempt: Attempt) -> Place:
    """A spot machine costs what its market says now, any other what was agreed."""
    candidate = run_facts.candidate_of(run.placement, attempt)
    price = attempt.price_hour_usd
    if attempt.market is Market.SPOT:
        try:
            price = quotes.asked(context, candidate.offer) or price
        except RigError as error:
            context.observe(_unpriced(candidate, error))
    return Place(candidate=candidate, option=option_of(run.job, candidate.offer), price_hour_usd=price)


def _cheaper(context: Context, run: RunContext, here: Place) -> Iterator[tuple[int, Place]]:
    """With their number in the placement's order."""
    roomy = tuple(admitted.with_room(context.journal, run, run.placement.candidates))
    now = context.now()
    cold = [c for c in cooldowns.active(context.journal, now) if now < c.until]
    rested = _rested(context, run, now)
    known = quotes.catalogue(context, roomy, run.environment)
    likely = sorted(
        (listed * c.nodes, number, listed, c)
        for number, c in enumerate(run.placement.candidates)
        if c in roomy
        and c is not here.candidate
        and rested(c)
        and not any(cooldown.covers(c.offer, c.account) for cooldown in cold)
        and (listed := quotes.listed(known, c.offer)) is not None
    )
    for _, number, listed, candidate in likely[:MOST_ASKED]:
        try:
            price = quotes.asked(context, candidate.offer)
        except RigError as error:
            context.observe(_unpriced(candidate, error))
            continue
        there = Place(
            candidate=candidate,
            option=option_of(run.job, candidate.offer),
            price_hour_usd=listed if price is None else price,
        )
        if there.hour_usd < here.hour_usd and (there.hour_usd > 0 or registry.tariff(candidate.offer.cloud).free):
            yield number, there


def _rested(context: Context, run: RunContext, now: datetime) -> Callable[[Candidate], bool]:
    """Whether a place has not refused this run, or taken a rig of it back, of late."""
    bad: dict[tuple[str, str, str | None, str, Market], list[datetime]] = {}
    attempts = context.journal.attempts(run.run_id)
    for a in attempts:
        if a.fault in RESTS:
            times = bad.setdefault((a.cloud, a.region, a.zone, a.instance_type, a.market), [])
            times.extend([a.ended_at or a.started_at] * a.tries)
    for h in context.journal.happenings(run.run_id, ("job_ended",)):
        if h.data.get("kind") in {"lost", "noticed"}:
            of = [a for a in attempts if a.generation <= h.data["generation"]]
            if of:
                a = of[-1]
                bad.setdefault((a.cloud, a.region, a.zone, a.instance_type, a.market), []).append(h.at)

    def rested(candidate: Candidate) -> bool:
        o = candidate.offer
        times = bad.get((o.cloud, o.region, o.zone, o.instance_type, o.market), [])
        return not times or now >= max(times) + min(REST * 2 ** min(len(times) - 1, 10), LONGEST_REST)

    return rested


def _unpriced(candidate: Candidate, error: RigError) -> Progress:
    return Progress(phase="run", message=f"{candidate.offer.cloud} names no price now: {error.message}")


def _once(observe: Observer) -> Observer:
    """Says the same but once: a look comes every few minutes."""
    said: set[str] = set()

    def told(event: Event) -> None:
        if isinstance(event, Progress):
            if event.message in said:
                return
            said.add(event.message)
        observe(event)

    return told
