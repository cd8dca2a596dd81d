"""Follows the event stream of an apply: says what happens, and when there is no point in going on."""

from __future__ import annotations

from dataclasses import dataclass

from trainrig.clouds.base import CloudFacts
from trainrig.model.events import Observer, Phase, Progress
from trainrig.model.fault import FaultClass, classify
from trainrig.tools.terraform import TerraformResult
from trainrig.tools.terraform_events import Apply, Diagnostic, TerraformEvent


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why a command failed: its class, what that means, and the cloud's own words."""

    fault: FaultClass
    meaning: str
    words: str = ""

    @property
    def reason(self) -> str:
        first = self.words.partition("\n")[0]
        return f"{self.meaning}: {first}" if first else self.meaning


class Watchdog:
    """Pass it as `watch`. One failed node fails the rig, so the first error ends an apply, where the cloud can be
    interrupted without losing what it is creating. A destroy goes on (`stops` false): what can go shall go."""

    def __init__(self, facts: CloudFacts, *, phase: Phase, total: int, observe: Observer, stops: bool = True) -> None:
        self._facts = facts
        self._stops = stops and facts.interruptible_creates
        self._phase = phase
        self._total = total
        self._observe = observe
        self._done = 0

    def __call__(self, event: TerraformEvent) -> str | None:
        match event:
            case Apply(step="start" | "complete" as step):
                self._done += step == "complete"
                message = f"{event.address}: {event.action} {'done' if step == 'complete' else 'begun'}"
                self._observe(Progress(phase=self._phase, message=message, done=self._done, total=self._total))
                return None
            case Diagnostic(severity="error") if self._stops:
                return str(classify(event.text, self._facts.faults)[0])
            case _:
                return None


def failure(result: TerraformResult, facts: CloudFacts) -> Failure:
    """What a failed command failed on: the first error that is in the cloud's fault table, since those that follow an
    interrupt say nothing new."""
    if not result.errors and result.stopped == "deadline":
        return Failure(fault=FaultClass.CAPACITY, meaning=f"nothing came up within {facts.apply_deadline_seconds} s")
    found = [(d, *classify(d.text, facts.faults)) for d in result.errors]
    known = [f for f in found if f[1] is not FaultClass.UNCLASSIFIED]
    if not known and result.stopped == "deadline":
        return Failure(fault=FaultClass.CAPACITY, meaning=f"nothing came up within {facts.apply_deadline_seconds} s")
    if not found:
        return Failure(
            fault=FaultClass.UNCLASSIFIED, meaning=f"Terraform ended with code {result.returncode} and said nothing"
        )
    diagnostic, fault, meaning = (known or found)[0]
    return Failure(fault=fault, meaning=meaning, words=diagnostic.text)
