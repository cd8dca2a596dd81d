"""Which of the runs that wait may begin: limits of an environment, of an account, and of GPUs in an account.

First come, first served, for each limit: a run that waits for room keeps those behind it from taking that room, so a
large one is not passed for ever by small ones. Runs that need other room pass it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.placement import Candidate


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """What one run takes of the limits, as long as anything of it may exist."""

    environment: str
    account: str
    gpu: str | None
    gpus: int  # of all nodes


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """A run that waits; `uses` are the places where it may go, best first, each once."""

    run_id: str
    environment: Environment
    uses: tuple[Use, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """`use` None: the run waits for what `full` says."""

    run_id: str
    use: Use | None
    full: tuple[str, ...] = ()


def use_of(environment: Environment, candidate: Candidate) -> Use:
    offer = candidate.offer
    return Use(
        environment=environment.name,
        account=account_of(offer.cloud, environment.policy(offer.cloud, candidate.account)),
        gpu=offer.gpu,
        gpus=offer.gpu_count * candidate.nodes if offer.gpu else 0,
    )


def account_of(cloud: str, policy: CloudPolicy | None) -> str:
    """One account has one name, in whichever environments it stands, and whatever it is called there."""
    named = sorted(policy.account.items()) if policy else []
    return " ".join([cloud, *(f"{key}={value}" for key, value in named)])


def wish_of(run_id: str, environment: Environment, candidates: Iterable[Candidate]) -> Wish:
    uses = dict.fromkeys(use_of(environment, c) for c in candidates)
    return Wish(run_id=run_id, environment=environment, uses=tuple(uses))


def full(environment: Environment, use: Use, others: Iterable[Use]) -> Mapping[tuple[str, ...], str]:
    """The limits of the environment that leave no room for `use` beside the others: what they are of, and in words."""
    found: dict[tuple[str, ...], str] = {}
    others = tuple(others)
    mine = [u for u in others if u.account == use.account]
    policy = next((p for p in environment.clouds if account_of(p.cloud, p) == use.account), None)
    if environment.max_runs is not None:
        runs = sum(u.environment == use.environment for u in others)
        if runs >= environment.max_runs:
            found["environment", use.environment] = (
                f"environment {use.environment} runs {runs}, {environment.max_runs} are allowed"
            )
    if policy and policy.max_runs is not None and len(mine) >= policy.max_runs:
        found["account", use.account] = f"account {use.account} has {len(mine)} runs, {policy.max_runs} are allowed"
    if policy and use.gpu:
        most = policy.max_gpus.get(use.gpu, policy.max_gpus.get("*"))
        taken = sum(u.gpus for u in mine if u.gpu == use.gpu)
        if most is not None and taken + use.gpus > most:
            found["gpus", use.account, use.gpu] = (
                f"account {use.account} has {taken} {use.gpu} in use, {use.gpus} are wanted, {most} are allowed"
            )
    return found


def admit(wishes: Iterable[Wish], uses: Sequence[Use]) -> Iterator[Verdict]:
    """A verdict for each wish, in their order; who stops asking has admitted nobody after that."""
    taken = list(uses)
    closed: dict[tuple[str, ...], str] = {}
    for wish in wishes:
        words: dict[str, None] = {}
        wanted: dict[tuple[str, ...], str] = {}
        for use in wish.uses:
            in_the_way = full(wish.environment, use, taken)
            behind = [closed[key] for key in _keys(use) if key in closed]
            if not in_the_way and not behind:
                taken.append(use)
                yield Verdict(run_id=wish.run_id, use=use)
                break
            wanted |= in_the_way
            words |= dict.fromkeys([*in_the_way.values(), *behind])
        else:
            closed |= wanted
            yield Verdict(run_id=wish.run_id, use=None, full=tuple(words))


def _keys(use: Use) -> tuple[tuple[str, ...], ...]:
    keys: list[tuple[str, ...]] = [("environment", use.environment), ("account", use.account)]
    return (*keys, ("gpus", use.account, use.gpu)) if use.gpu else tuple(keys)
