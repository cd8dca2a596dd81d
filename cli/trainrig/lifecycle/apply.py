"""Brings a rig up: the placement's candidates in order, until one has all its nodes. A stock-out that names other zones
brings the candidates there to the front."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from trainrig.clouds import registry
from trainrig.errors import (
    CredentialsMissing,
    DestroyIncomplete,
    Interrupted,
    NoCapacity,
    OverBudget,
    RigError,
    TerraformFailed,
)
from trainrig.lifecycle.attempt import Failed, MakeRoot, Review, Up, roll_back, try_candidate
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.reap import applied, places_of, reap
from trainrig.lifecycle.watchdog import Failure
from trainrig.model.cooldown import Cooldown
from trainrig.model.events import Progress
from trainrig.model.fault import FaultClass, zones_named
from trainrig.model.money import dollars
from trainrig.model.offer import Market, Offer
from trainrig.model.placement import Candidate
from trainrig.model.rig import RigIdentity, RigState
from trainrig.store import cooldowns, locks
from trainrig.store.journal import AttemptState, Rig
from trainrig.tools import interrupt

EVENTUAL_WAIT_SECONDS = (5.0, 20.0)  # before the same candidate is tried again
SPOT_HEADROOM = Decimal("1.1")  # how far a spot price that nobody reviewed may have moved since the placement
MOVE_ON = {FaultClass.CAPACITY, FaultClass.QUOTA}
TRY_AGAIN = {FaultClass.EVENTUAL, FaultClass.DEPENDENCY}

Quote = Callable[[Offer], Decimal | None]


def agreed_price(offer: Offer) -> Decimal | None:
    """The price that the placement was made with."""
    return offer.price_hour_usd


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What was approved: who the rig is, where it may come up, in which order, and for how much an hour at most."""

    identity: RigIdentity
    candidates: tuple[Candidate, ...]
    make_root: MakeRoot
    ceiling_hour_usd: Decimal | None = None  # of the whole rig; None: that of its dearest candidate, with headroom
    generation: int = 1
    details: Mapping[str, Any] = field(default_factory=dict)  # kept in the journal: digests, the job's name
    quote: Quote = agreed_price
    review: Review | None = None  # of what the first candidate plans

    @property
    def ceiling(self) -> Decimal:
        if self.ceiling_hour_usd is not None:
            return self.ceiling_hour_usd
        return max((_with_headroom(c.offer) * c.nodes for c in self.candidates), default=Decimal(0))


def _with_headroom(offer: Offer) -> Decimal:
    price = offer.price_hour_usd or Decimal(0)
    return price * SPOT_HEADROOM if offer.market is Market.SPOT else price


def apply(context: Context, order: Order, *, of_run: bool = False) -> Up:
    """A rig that is up already, by this very order, is returned as it is; one that a crash left half-way is rolled back
    and tried again. `of_run`: a failure is not the end of the rig, whose name stays taken: its run says what follows.

    Raises:
        NoCapacity: every candidate refused; nothing is left.
        DestroyIncomplete: something of a failed attempt could not be removed.
        CredentialsMissing, TerraformFailed: another candidate would fail in the same way.
        RigBusy: the name or the rig is in use.
        Interrupted: what exists is in the journal; destroy removes it.
    """
    directory = context.rig_dir(order.identity)
    with interrupt.handled(), locks.hold(directory.path, "apply"):
        rig = context.journal.intend(order.identity, details=order.details)
        up = _already_up(context, rig, order)
        if up:
            return up
        context.journal.set_state(rig.run_id, RigState.APPLYING)
        try:
            _clear(context, rig)
            up = _try_all(context, rig, order)
        except RigError as error:
            clean = not isinstance(error, (Interrupted, DestroyIncomplete)) and _nothing_left(context, rig)
            state = RigState.RECOVERING if of_run else RigState.FAILED
            # Of a run, its own end tells the places: one that waits for machines is here every few minutes.
            reason = error.message.partition("\n")[0] if of_run else error.message
            context.journal.set_state(rig.run_id, state, clean=clean and not of_run, reason=reason)
            raise
        context.journal.set_state(rig.run_id, RigState.CONFIGURING)
        return up


def _already_up(context: Context, rig: Rig, order: Order) -> Up | None:
    for attempt in context.journal.attempts(rig.run_id):
        if attempt.state is AttemptState.UP and attempt.generation == order.generation:
            root = context.rig_dir(rig.identity).attempt(attempt.generation, attempt.number)
            return Up(attempt=attempt, nodes=attempt.node_list, root=root)
    return None


def _clear(context: Context, rig: Rig) -> None:
    """Rolls back what an apply that was killed has left."""
    for attempt in context.journal.attempts(rig.run_id):
        if attempt.state in {AttemptState.INTENDED, AttemptState.APPLYING, AttemptState.ROLLING_BACK}:
            killed = Failure(fault=attempt.fault or FaultClass.EVENTUAL, meaning=attempt.reason or "interrupted")
            _require_clean(roll_back(context, rig, attempt, killed))


def _try_all(context: Context, rig: Rig, order: Order) -> Up:
    refused: list[str] = []
    resting: list[Cooldown] = []
    waiting = list(order.candidates)
    while waiting:
        candidate = waiting.pop(0)
        offer = candidate.offer
        where = f"{offer.cloud} {offer.place} {offer.instance_type} {offer.market}"
        cooldown = next((c for c in resting if c.covers(offer, candidate.account)), None)
        if cooldown:
            refused.append(f"{where}: not tried, {cooldown.reason}")
            continue
        price = order.quote(offer)
        if price is not None and price * candidate.nodes > order.ceiling:
            refused.append(
                f"{where}: {dollars(price * candidate.nodes)} an hour now, {dollars(order.ceiling)} were approved"
            )
            continue
        context.observe(Progress(phase="apply", message=f"try {where}"))
        agreed = candidate if price is None else replace(candidate, offer=replace(offer, price_hour_usd=price))
        review = order.review if candidate is order.candidates[0] else None
        outcome = _try(context, rig, order, candidate, agreed, review)
        if isinstance(outcome, Up):
            return outcome
        reason = outcome.failure.reason
        context.observe(Progress(phase="apply", message=f"{where}: {outcome.failure.fault}, {reason}"))
        if outcome.failure.fault not in MOVE_ON:
            raise _stop(where, outcome.failure)
        refused.append(f"{where}: {reason}")
        cooldown = cooldowns.remember(
            context.journal, offer, outcome.failure.fault, reason, context.now(), candidate.account
        )
        resting.append(cooldown)
        zones = zones_named(outcome.failure.words, registry.facts(offer.cloud).zones_named)
        waiting.sort(key=lambda c: not _the_same_in(c.offer, offer, zones))
    raise _exhausted(order.candidates, refused)


def _the_same_in(offer: Offer, refused: Offer, zones: Sequence[str]) -> bool:
    """Whether it is the refused machine in one of these zones."""
    same = (offer.cloud, offer.instance_type, offer.market) == (refused.cloud, refused.instance_type, refused.market)
    return same and offer.zone in zones


def _try(
    context: Context, rig: Rig, order: Order, candidate: Candidate, agreed: Candidate, review: Review | None
) -> Up | Failed:
    """One candidate, again after a pause while its cloud has only not caught up with itself. `agreed`: the same at the
    price of now, which the ledger is told; a root knows no prices."""

    def make_root(_agreed: Candidate, root: Path, attempt: str) -> None:
        order.make_root(candidate, root, attempt)

    for delay in (*EVENTUAL_WAIT_SECONDS, None):
        outcome = try_candidate(context, rig, order.generation, agreed, make_root, review)
        if isinstance(outcome, Up):
            return outcome
        _require_clean(outcome)
        if delay is None or outcome.failure.fault not in TRY_AGAIN:
            return outcome
        time.sleep(delay)
    raise AssertionError("the last delay is None")


def _require_clean(failed: Failed) -> None:
    """Nobody moves on while something of the last attempt bills."""
    if not failed.clean:
        raise DestroyIncomplete(
            f"the attempt in {failed.attempt.region} failed ({failed.failure.reason}) and could not be removed",
            hint=f"trainrig destroy --run-id {failed.attempt.run_id} tries again",
            details={"run_id": failed.attempt.run_id},
        )


def _nothing_left(context: Context, rig: Rig) -> bool:
    """Whether a failed rig is proven gone; asks the clouds where something had been created."""
    attempts = context.journal.attempts(rig.run_id)
    if any(a.state is not AttemptState.GONE for a in attempts):
        return False
    reaped = reap(context, places_of(applied(context, rig.run_id, attempts)), rig.run_id)
    return not (reaped.refused or reaped.doubts)


def _stop(where: str, failure: Failure) -> RigError:
    """Auth and config errors would come again on the next candidate; an unknown one might mean anything."""
    details = {"fault": str(failure.fault), "words": failure.words}
    message = f"{where}: {failure.reason}"
    if failure.fault is FaultClass.AUTH:
        return CredentialsMissing(message, hint="trainrig check names what is missing", details=details)
    if failure.fault is FaultClass.UNCLASSIFIED:
        return TerraformFailed(f"{where}: unclassified error\n{failure.words}", details=details)
    return TerraformFailed(message, details=details)


def _exhausted(candidates: Sequence[Candidate], refused: list[str]) -> RigError:
    lines = "\n".join(f"  {line}" for line in refused)
    if refused and all("were approved" in line for line in refused):
        return OverBudget(f"every candidate costs more than was approved\n{lines}", hint="plan again to see the prices")
    return NoCapacity(
        f"none of {len(candidates)} candidates could be had\n{lines}",
        hint="allow more regions, clouds or GPU types, or try again later",
        details={"refused": refused},
    )
