"""What to do next about a run, from facts alone: observe, decide, act.

The rules, first match wins:
1. every rank ended well: finish. A job that failed: ask the cloud first; a node that is gone makes it a lost node, a
   node that lives makes it the job's own failure, tried again only for the exit codes that the job names.
2. notice: save, then replace the rig while its node is still there. Silence: wait, prepare, ask the cloud.
3. a lost rig is replaced unless a limit says stop: budget, deadline, a set count, or no progress.
4. the replacement's market follows the deadline (`market_for`).
5. a loss after which no approved place has machines waits for one, until a limit says stop.
6. a healthy job that asks for it moves to a cheaper approved place, when that saves more than the way costs (`_move`).
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from trainrig.model.money import dollars
from trainrig.model.offer import Market
from trainrig.recovery.facts import (
    Action,
    AskCloud,
    Continue,
    Elsewhere,
    Facts,
    Fail,
    Finish,
    Move,
    Observation,
    Prepare,
    Replace,
    RestartJob,
    Stop,
    Wait,
)

PREPARE_SECONDS = 20
ASK_SECONDS = 60
NO_PROGRESS_LIMIT = 3  # recoveries in a row that committed nothing: the job does not fit its machine or its market
COLLECT_TIME = timedelta(minutes=2)  # before the lease ends: what was made must still be fetched
SETUP_LIMIT = 3  # rigs in a row that never started the job
# Spot while obtainable, on-demand once the work left fills this share of the time left. 0.85 beat the published
# policies in one zone on 1,080 runs; a tighter deadline than that raises it to the job's own share (work / window).
ON_DEMAND_SHARE = Decimal("0.85")
# Two places whose prices move by less than this against one another are not worth a move, whatever the work left.
CHEAPER_SHARE = Decimal("0.9")


def decide(facts: Facts) -> Action:
    """The next action for a run; pure and total."""
    match facts.observation:
        case Observation.JOB_DONE:
            return Finish()
        case Observation.JOB_FAILED:
            return _job_failed(facts)
        case Observation.SETUP_FAILED:
            return _setup_failed(facts)
        case Observation.SAVED:
            return _replace(facts, "the cloud takes a node back")
        case Observation.SILENT:
            return _silent(facts)
        case Observation.NOWHERE:
            return _over_limit(facts) or Wait(market=market_for(facts))
        case Observation.HEALTHY:
            return _over_limit(facts) or _move(facts) or Continue()


def market_for(facts: Facts) -> Market | None:
    """On-demand when the deadline asks for it or spot is not to be had; None leaves the choice to the cost."""
    if not facts.spot_obtainable:
        return Market.ON_DEMAND
    if facts.limits.deadline is None or facts.work_left_hours is None or facts.work_hours is None:
        return None
    left = _hours(facts.limits.deadline - facts.now)
    window = _hours(facts.limits.deadline - facts.started_at)
    # One more changeover is paid before any work is done, and a spot node may have to pay it again.
    need = facts.work_left_hours + facts.changeover_hours
    if left <= 0 or window <= 0:
        return Market.ON_DEMAND
    share = max(facts.work_hours / window, ON_DEMAND_SHARE)
    if need / left > share or need + 2 * facts.changeover_hours > left:
        return Market.ON_DEMAND
    return None


def may_move(facts: Facts) -> bool:
    """Whether prices elsewhere matter: all that can be said about a move without them."""
    wishes = facts.move
    if wishes is None or not facts.committed or facts.settled_at is None or not facts.work_left_hours:
        return False
    if wishes.max_moves is not None and facts.moves >= wishes.max_moves:
        return False
    # The one that is planned, and the one that a preemption right after it would take.
    need = timedelta(hours=float(facts.work_left_hours + 2 * facts.changeover_hours))
    ends = (facts.limits.deadline, facts.limits.timeout_at, facts.limits.lease_ends)
    if any(end is not None and facts.now + need > end for end in ends):
        return False
    return facts.now - facts.settled_at >= timedelta(seconds=wishes.wait_seconds)


def _move(facts: Facts) -> Move | None:
    if not facts.elsewhere or not may_move(facts):
        return None
    worth = [e for e in facts.elsewhere if _worth(facts, e)]
    best = max(worth, key=lambda e: (e.gain_usd, -e.candidate), default=None)
    if best is None:
        return None
    return Move(
        candidate=best.candidate,
        reason=f"{best.where} costs {best.there_hour_usd:.4f} USD an hour instead of {best.here_hour_usd:.4f}: "
        f"{dollars(best.saving_usd)} less for the work left, and {dollars(best.cost_usd)} for the move",
    )


def _worth(facts: Facts, there: Elsewhere) -> bool:
    assert facts.move is not None
    budget = facts.limits.budget_usd
    return (
        there.there_hour_usd <= CHEAPER_SHARE * there.here_hour_usd
        and there.gain_usd > 0
        and there.gain_usd >= facts.move.min_saving_usd
        and (budget is None or facts.spent_usd + there.cost_usd < budget)
        and (there.market is not Market.SPOT or market_for(facts) is None)
    )


def _job_failed(facts: Facts) -> Action:
    if facts.nodes_alive is None:
        return AskCloud()
    if not facts.nodes_alive:
        return _replace(facts, "a node was lost while the job ran")
    code = 1 if facts.job_exit_code is None else facts.job_exit_code
    if code not in facts.limits.on_exit_codes and facts.job_failures > facts.limits.max_restarts_on_errors:
        return Fail(job_exit_code=code)
    stop = _over_limit(facts) or _stuck(facts)
    if isinstance(stop, Stop) and stop.limit == "no_progress":
        return Fail(job_exit_code=code)  # it is the job that fails each time; say so with its own code
    return stop or RestartJob()


def _setup_failed(facts: Facts) -> Action:
    if facts.setup_failures >= SETUP_LIMIT:
        return Stop(limit="setup", reason=f"{facts.setup_failures} rigs in a row never started the job")
    return _replace(facts, "the rig could not be set up")


def _silent(facts: Facts) -> Action:
    if facts.nodes_alive is False:  # a refused connection made the watcher ask early
        return _replace(facts, "a node was lost without notice")
    if facts.silent_seconds < PREPARE_SECONDS:
        return Continue()
    if facts.silent_seconds < ASK_SECONDS:
        return Prepare()
    return AskCloud() if facts.nodes_alive is None else Continue()


def _replace(facts: Facts, reason: str) -> Action:
    return _over_limit(facts) or _stuck(facts) or Replace(market=market_for(facts), reason=reason)


def _over_limit(facts: Facts) -> Stop | None:
    limits = facts.limits
    if limits.budget_usd is not None and facts.spent_usd >= limits.budget_usd:
        return Stop(
            limit="budget", reason=f"spent {dollars(facts.spent_usd)} of a budget of {dollars(limits.budget_usd)}"
        )
    if limits.deadline is not None and facts.now >= limits.deadline:
        return Stop(limit="deadline", reason=f"the deadline {limits.deadline.isoformat()} has passed")
    if limits.timeout_at is not None and facts.now >= limits.timeout_at:
        return Stop(limit="timeout", reason=f"it has run for its timeout, since {facts.started_at.isoformat()}")
    if limits.lease_ends is not None and facts.now >= limits.lease_ends - COLLECT_TIME:
        return Stop(limit="lease", reason=f"the rig's lease ends at {limits.lease_ends.isoformat()}")
    return None


def _stuck(facts: Facts) -> Stop | None:
    """Limits that hold only when something has to be done again."""
    limit = facts.limits.max_recoveries
    if limit is not None and facts.recoveries >= limit:
        return Stop(limit="max_recoveries", reason=f"recovered {facts.recoveries} times, {limit} are allowed")
    if facts.recoveries_without_progress >= NO_PROGRESS_LIMIT:
        return Stop(
            limit="no_progress",
            reason=f"{facts.recoveries_without_progress} recoveries in a row without a new checkpoint",
        )
    return None


def _hours(span: timedelta) -> Decimal:
    return Decimal(str(span.total_seconds())) / 3600
