"""Nothing fits: the error that says which limit was the last one in the way."""

from __future__ import annotations

from collections import Counter

from trainrig.errors import OverBudget, Unplaceable
from trainrig.model.placement import Placement
from trainrig.model.placement import RejectionCode as Code
from trainrig.placement.decide import STAGE

_HINTS = {
    Code.CLOUD_NOT_ALLOWED: "allow another cloud in the environment (--env)",
    Code.GPU_MISMATCH: "trainrig offers lists the GPUs that are for sale; a list of accelerators accepts several",
    Code.GPU_COUNT: "trainrig offers --gpu NAME lists the counts that are for sale",
    Code.MARKET_NOT_ALLOWED: "leave the market open, or allow it in the environment",
    Code.BAD_PRICE: "trainrig offers refresh asks the clouds for their prices now",
    Code.STALE_PRICE: "trainrig offers refresh asks the clouds for their prices now",
    Code.NO_PRICE: "trainrig offers refresh asks the clouds for their prices now",
    Code.QUOTA: "ask the cloud for a higher quota, or allow more regions",
    Code.BUDGET: "raise the budget, or let the job be shorter (expected_hours)",
    Code.MAX_COST: "raise the budget of a run in the environment, or let the job be shorter (expected_hours)",
    Code.DEADLINE: "move the deadline, or write checkpoints more often",
    Code.CREDITS: "--approve-burst spends past the credit of accounts that ask first",
}


def error(placement: Placement) -> Unplaceable:
    """For a placement with nothing chosen."""
    counts: Counter[Code] = Counter(placement.counted)
    counts.update(r.code for r in placement.rejections)
    details = {"rejections": {code.value: n for code, n in sorted(counts.items())}}
    if not counts:
        return Unplaceable(f"{placement.job}: there are no offers", hint="trainrig offers refresh", details=details)
    # The reason that let an offer get furthest is the one closest to a yes.
    last = max(counts, key=lambda code: STAGE[code])
    example = next((r for r in placement.rejections if r.code is last), None)
    said = f", for example {example.offer.instance_type} in {example.offer.place}: {example.detail}" if example else ""
    kind = OverBudget if last in {Code.BUDGET, Code.MAX_COST} else Unplaceable
    return kind(
        f"{placement.job}: none of {sum(counts.values()):,} offers fits; "
        f"the last {counts[last]:,} were rejected for {last.value}{said}",
        hint=_hint(last, counts),
        details=details,
    )


def _hint(last: Code, counts: Counter[Code]) -> str:
    elsewhere = counts[Code.CLOUD_NOT_ALLOWED]
    if last in {Code.GPU_MISMATCH, Code.GPU_COUNT} and elsewhere:
        return f"offers on clouds that this environment does not have: {elsewhere:,}; choose another with --env"
    return _HINTS.get(last, "trainrig explain --rejected JOB lists every offer with its reason")
