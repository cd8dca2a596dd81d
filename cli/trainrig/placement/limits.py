"""The limits that are checked on each offer's own price and bill: caps, budgets, credits, deadline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from trainrig.model.clock import iso
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.job import Job, ResourceOption
from trainrig.model.money import dollars
from trainrig.model.offer import Offer
from trainrig.model.placement import RejectionCode as Code
from trainrig.placement.fit import Misfit
from trainrig.placement.score import Score

NO_PRIORITY = 1_000_000  # after every account that has one


@dataclass(frozen=True, kw_only=True, slots=True)
class Spend:
    """What is spent already, as the ledger knows it, and what a person has agreed to."""

    month_usd: Decimal = Decimal(0)
    by_account_usd: Mapping[tuple[str, str], Decimal] = field(default_factory=dict)  # by (cloud, account)
    burst_approved: bool = False


NOTHING_SPENT = Spend()


def price_cap(option: ResourceOption, environment: Environment, offer: Offer) -> Misfit | None:
    """Caps on the price itself: of a node by the job, of a GPU-hour by the environment."""
    price = offer.price_hour_usd
    assert price is not None
    if option.max_hourly_usd is not None and price > option.max_hourly_usd:
        return Code.PRICE_CAP, f"{price} USD a node and hour; the job allows {option.max_hourly_usd}"
    caps = environment.price_caps_gpu_hour_usd
    cap = caps.get(offer.gpu, caps.get("*")) if offer.gpu else None
    if cap is not None and price > cap * offer.gpu_count:
        each = (price / max(offer.gpu_count, 1)).quantize(Decimal("0.0001"))
        return Code.PRICE_CAP, f"{each} USD a GPU and hour; the environment {environment.name} allows {cap}"
    return None


def deadline(job: Job, score: Score, now: datetime) -> Misfit | None:
    """The finish that nine of ten runs reach must come before the deadline."""
    if job.deadline is None:
        return None
    finish = now + timedelta(hours=float(score.run.p90_hours))
    if finish > job.deadline:
        return Code.DEADLINE, f"nine of ten runs end by {iso(finish)}; the deadline is {iso(job.deadline)}"
    return None


def money(job: Job, environment: Environment, cost: Decimal, spend: Spend) -> Misfit | None:
    """Budgets on the expected bill."""
    if job.budget_usd is not None and cost > job.budget_usd:
        return Code.BUDGET, f"expected {dollars(cost)}; the job's budget is {dollars(job.budget_usd)}"
    if environment.budget_run_usd is not None and cost > environment.budget_run_usd:
        limit = dollars(environment.budget_run_usd)
        return Code.MAX_COST, f"expected {dollars(cost)}; the environment {environment.name} allows {limit} a run"
    if environment.budget_month_usd is not None and cost > environment.budget_month_usd - spend.month_usd:
        limit, spent = dollars(environment.budget_month_usd), dollars(spend.month_usd)
        return Code.BUDGET, (
            f"expected {dollars(cost)}; the environment {environment.name} allows {limit} a month, {spent} are spent"
        )
    return None


def credit(policy: CloudPolicy, cost: Decimal, spend: Spend) -> tuple[int, Misfit | None]:
    """The rank of an account (lower is spent first), and why it may not be used. Past its credit limit an account
    loses its priority, and `burst` says whether it may be used at all."""
    rank = policy.priority if policy.priority > 0 else NO_PRIORITY
    if policy.credit_limit_usd is None:
        return rank, None
    spent = spend.by_account_usd.get((policy.cloud, policy.name), Decimal(0))
    left = policy.credit_limit_usd - policy.credit_used_usd - spent
    if cost <= left:
        return rank, None
    whose = " ".join(filter(None, (policy.cloud, policy.name)))
    short = f"expected {dollars(cost)}; {dollars(max(left, Decimal(0)))} of {whose}'s credit is left"
    if policy.burst == "deny":
        return NO_PRIORITY, (Code.CREDITS, f"{short}, and the environment does not spend past it")
    if policy.burst == "approve" and not spend.burst_approved:
        return NO_PRIORITY, (Code.CREDITS, f"{short}; spending past it needs --approve-burst")
    return NO_PRIORITY, None
