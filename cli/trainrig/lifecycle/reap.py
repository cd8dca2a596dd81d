"""Finds what a run has in a cloud by its labels, deletes it, and looks again until nothing is there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from trainrig.clouds import registry
from trainrig.clouds.base import Resource
from trainrig.errors import RigError
from trainrig.lifecycle.context import Context
from trainrig.model.events import Progress
from trainrig.model.fault import FaultClass, classify
from trainrig.store import ledger
from trainrig.store.journal import Attempt

DELETE_ROUNDS = 6
DELETE_WAIT_SECONDS = 1.0  # doubles each round
MAX_LOOKS = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where to look. No regions: all that the environment allows."""

    cloud: str
    regions: tuple[str, ...] = ()
    account: str = ""  # which of the cloud's several accounts

    @property
    def title(self) -> str:
        return " ".join(filter(None, (self.cloud, self.account)))


@dataclass(kw_only=True, slots=True)
class Reaped:
    """What was found and what became of it. `doubts`: clouds that could not be asked."""

    found: dict[tuple[str, str], Resource] = field(default_factory=dict)  # by (type, id)
    refused: dict[tuple[str, str], str] = field(default_factory=dict)  # the cloud's words
    doubts: list[str] = field(default_factory=list)

    def then(self, later: Reaped) -> Reaped:
        """What is known after a later look: all that was found, and what that look has to say."""
        return Reaped(found=self.found | later.found, refused=later.refused, doubts=later.doubts)

    def is_gone(self, identifier: str) -> bool:
        """Found and deleted."""
        return any(i == identifier for _, i in self.found) and not any(i == identifier for _, i in self.refused)


def applied(context: Context, run_id: str, attempts: Sequence[Attempt]) -> list[Attempt]:
    """Those that asked something of a cloud: their charge is begun before the first call."""
    begun = {(c.generation, c.number) for c in ledger.charges(context.journal, run_id)}
    return [a for a in attempts if (a.generation, a.number) in begun]


def places_of(attempts: Sequence[Attempt]) -> tuple[Place, ...]:
    """Every cloud and region in which something may have been created."""
    regions: dict[tuple[str, str], set[str]] = {}
    for attempt in attempts:
        regions.setdefault((attempt.cloud, attempt.account), set()).add(attempt.region)
    return tuple(
        Place(cloud=cloud, account=account, regions=tuple(sorted(r))) for (cloud, account), r in sorted(regions.items())
    )


def everywhere(context: Context) -> tuple[Place, ...]:
    """Every account of every cloud of the environment."""
    return tuple(Place(cloud=p.cloud, account=p.name) for p in context.environment.clouds)


def look(context: Context, place: Place, run_id: str | None) -> list[Resource]:
    """Raises RigError when the cloud cannot be asked."""
    account = context.account(place.cloud, place.regions, place.account)
    return list(registry.inventory(place.cloud).find(account, run_id))


def reap_once(context: Context, places: Iterable[Place], run_id: str) -> Reaped:
    """One look at each place; what is there is deleted."""
    reaped = Reaped()
    for place in places:
        try:
            resources = look(context, place, run_id)
        except RigError as error:
            reaped.doubts.append(f"{place.title} could not be asked: {error.message}")
            continue
        reaped.found |= {(r.type, r.id): r for r in resources}
        reaped.refused |= delete(context, place, resources)
    return reaped


def reap(context: Context, places: tuple[Place, ...], run_id: str) -> Reaped:
    """Looks and deletes until two looks in a row, a quiet period apart, show nothing: a spot request or a machine whose
    creation was cut off may show up half a minute late."""
    total = Reaped()
    empty = 0
    for number in range(MAX_LOOKS if places else 0):
        if number:
            time.sleep(max(registry.facts(p.cloud).quiet_seconds for p in places))
        reaped = reap_once(context, places, run_id)
        total = total.then(reaped)
        empty = 0 if reaped.found else empty + 1
        if empty == 2 or len(reaped.doubts) == len(places):
            return total
    if places and not total.refused:
        total.doubts.append(f"resources of run {run_id} kept appearing")
    return total


def delete(context: Context, place: Place, resources: list[Resource]) -> dict[tuple[str, str], str]:
    """Deletes in the given order, again while the cloud names dependants; returns what was refused, and why."""
    account = context.account(place.cloud, place.regions, place.account)
    inventory, rules = registry.inventory(place.cloud), registry.facts(place.cloud).faults
    refused: dict[tuple[str, str], str] = {}
    left = resources
    for number in range(DELETE_ROUNDS):
        retry = []
        for resource in left:
            context.observe(Progress(phase="destroy", message=f"{resource.type} {resource.id}: delete"))
            try:
                inventory.delete(account, resource)
                refused.pop((resource.type, resource.id), None)
            except RigError as error:
                refused[resource.type, resource.id] = error.message
                if classify(error.message, rules)[0] in {FaultClass.DEPENDENCY, FaultClass.EVENTUAL}:
                    retry.append(resource)
        left = retry
        if not left or len(refused) > len(left):
            break  # what is refused for good holds the others: waiting does not help
        time.sleep(DELETE_WAIT_SECONDS * 2**number)
    return refused
