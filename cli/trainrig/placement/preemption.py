"""Expected hours of a run that is taken back at random: the formulas of docs/placement.md.

Preemptions are a Poisson process. A run of `work` hours saves a checkpoint every `interval` hours; each start takes
`setup` hours, which a preemption can also cut short; what was done since the last checkpoint is done again.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

NEVER = Decimal(100)  # a run that would take this many times its work is not one that finishes
LONGEST_HOURS = Decimal(100_000)  # eleven years
_P90 = Decimal("1.2816")  # of the normal distribution


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Not rounded: a ten-thousandth of an hour is a cent of what costs 98 dollars an hour. `billed_hours` is from the
    first boot to the last step, restarts included."""

    billed_hours: Decimal
    preemptions: Decimal
    p90_hours: Decimal


def run(*, work: Decimal, setup: Decimal, per_hour: Decimal, interval: Decimal | None) -> Run | None:
    """What a run comes to. `interval` None: no checkpoint, so that every preemption loses everything."""
    if work > LONGEST_HOURS:
        return None
    if per_hour == 0 or work <= 0:
        hours = setup + work
        return Run(billed_hours=hours, preemptions=Decimal(0), p90_hours=hours)
    step = min(interval, work) if interval else work
    with localcontext() as context:
        context.prec = 28
        if per_hour * (setup + step) > 50:  # e^50: no number worth printing
            return None
        up, lost = (per_hour * setup).exp(), (per_hour * step).exp() - 1
        billed = (up - 1) / per_hour + (work / step) * up * lost / per_hour
        if billed > NEVER * (work + setup):
            return None
        preemptions = per_hour * billed
        spread = (preemptions * (setup**2 + setup * step + step**2 / 3)).sqrt()
        return Run(
            billed_hours=billed,
            preemptions=preemptions,
            p90_hours=billed + _P90 * spread,
        )
