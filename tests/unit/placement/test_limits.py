from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from support.offers import COSTS, NOW, codes, environment, job, offer, option, placed
from trainrig.model.cooldown import Cooldown
from trainrig.model.environment import CloudPolicy
from trainrig.model.offer import Market, Offer
from trainrig.model.quota import Quota, QuotaNeed
from trainrig.placement.limits import Spend
from trainrig.placement.quota import QuotaBook


def only_code(*args: Any, **more: Any) -> str | None:
    placement = placed(*args, **more)
    return None if placement.chosen else next(iter(codes(placement).values()))


def test_a_cap_a_gpu_hour_is_held_by_every_offer() -> None:
    team = environment(price_caps_gpu_hour_usd={"A100": Decimal("1.25"), "*": Decimal(1)})

    assert only_code([offer("10")], None, team) is None
    assert only_code([offer("10.0001")], None, team) == "price_cap"
    other = job(options=(option(gpus=()),))
    assert only_code([offer("8.01", gpu="V100")], other, team) == "price_cap"
    assert only_code([offer("99", gpu=None, gpu_count=0)], other, team) is None


def test_a_cap_a_node_hour_of_the_job() -> None:
    capped = job(options=(option(max_hourly_usd=Decimal(5)),))

    assert only_code([offer("5")], capped) is None
    assert only_code([offer("5.01")], capped) == "price_cap"


@pytest.mark.parametrize(("budget", "code"), [("99.99", "budget"), ("100", None)])
def test_the_budget_of_a_job(budget: str, code: str | None) -> None:
    assert only_code([offer("10")], job(budget_usd=Decimal(budget))) == code


def test_budgets_of_an_environment() -> None:
    assert only_code([offer("10")], None, environment(budget_run_usd=Decimal(99))) == "max_cost"
    monthly = environment(budget_month_usd=Decimal(500))
    assert only_code([offer("10")], None, monthly, spend=Spend(month_usd=Decimal(400))) is None
    assert only_code([offer("10")], None, monthly, spend=Spend(month_usd=Decimal(401))) == "budget"


def test_a_deadline_is_met_by_nine_of_ten_runs() -> None:
    in_time = job(deadline=NOW + timedelta(hours=10))
    too_late = job(deadline=NOW + timedelta(hours=10) - timedelta(seconds=1))

    assert only_code([offer()], in_time) is None
    assert only_code([offer()], too_late) == "deadline"


def test_a_deadline_leaves_on_demand_where_spot_would_come_too_late() -> None:
    from trainrig.model.tariff import Hazard

    hazards = (Hazard(per_hour=Decimal("0.1"), source="a test"),)
    risky = {**COSTS, "aws": replace(COSTS["aws"], tariff=replace(COSTS["aws"].tariff, hazards=hazards))}

    placement = placed(
        [offer("3", market=Market.SPOT), offer("10")], job(deadline=NOW + timedelta(hours=12)), costs=risky
    )

    assert [c.offer.market for c in placement.candidates] == [Market.ON_DEMAND]
    assert set(codes(placement).values()) == {"deadline"}


def account(cloud: str, **changes: Any) -> CloudPolicy:
    return CloudPolicy(cloud=cloud, **changes)


def test_credit_is_spent_by_priority_before_cost() -> None:
    team = environment(
        clouds=(
            account("aws", credit_limit_usd=Decimal(500), priority=1),
            account("gcp", credit_limit_usd=Decimal(500), priority=2),
            account("azure"),
        )
    )
    aws, gcp, azure = offer("12"), offer("11", cloud="gcp"), offer("10", cloud="azure")

    assert [c.offer for c in placed([azure, gcp, aws], None, team).candidates] == [aws, gcp, azure]
    # 450 of 500 are spent, the run costs 120: past its credit, aws has no priority any more
    spent = Spend(by_account_usd={("aws", ""): Decimal(450)})
    assert [c.offer for c in placed([azure, gcp, aws], None, team, spend=spent).candidates] == [gcp, azure, aws]


def test_the_accounts_of_a_cloud_are_each_tried_by_their_own_limits() -> None:
    team = environment(
        clouds=(
            account("aws", name="grant", credit_limit_usd=Decimal(500), priority=1, burst="deny"),
            account("aws", name="main", regions=("us-east-1",), priority=2),
            account("gcp"),
        )
    )
    east, west, gcp = offer("10"), offer("11", region="us-west-2"), offer("1", cloud="gcp")

    def tried(**spent: str) -> list[tuple[Offer, str]]:
        spend = Spend(by_account_usd={("aws", name): Decimal(usd) for name, usd in spent.items()})
        return [(c.offer, c.account) for c in placed([gcp, west, east], None, team, spend=spend).candidates]

    assert tried() == [(east, "grant"), (west, "grant"), (east, "main"), (gcp, "")]
    # what main has spent is not the grant's
    assert tried(main="450") == tried()
    # 105 of the grant are left: east costs 100, west 110
    assert tried(grant="395") == [(east, "grant"), (east, "main"), (gcp, "")]
    # nothing of it is left, and west is allowed in no other account
    assert tried(grant="500") == [(east, "main"), (gcp, "")]
    empty = placed([west], None, team, spend=Spend(by_account_usd={("aws", "grant"): Decimal(500)}))
    assert "of aws grant's credit is left" in empty.rejections[0].detail


def test_a_quota_and_its_cooldown_are_one_accounts() -> None:
    team = environment(clouds=(account("aws", name="grant", priority=1), account("aws", name="main", priority=2)))
    full = replace(next(iter(book("0", "0").limits.values())), account="grant")
    quotas = QuotaBook.of([full], book("0", "0").needed)
    cold = Cooldown(cloud="aws", until=NOW + timedelta(hours=1), reason="no quota", gpu="A100", account="grant")

    assert [c.account for c in placed([offer("10")], None, team).candidates] == ["grant", "main"]
    assert [c.account for c in placed([offer("10")], None, team, quotas=quotas).candidates] == ["main"]
    assert [c.account for c in placed([offer("10")], None, team, cooldowns=(cold,)).candidates] == ["main"]


@pytest.mark.parametrize(
    ("burst", "approved", "code"),
    [("allow", False, None), ("approve", False, "credits"), ("approve", True, None), ("deny", True, "credits")],
)
def test_past_the_credit(burst: Any, approved: bool, code: str | None) -> None:
    policy = account("aws", credit_limit_usd=Decimal(500), credit_used_usd=Decimal(401), burst=burst)
    team = environment(clouds=(policy,))

    assert only_code([offer("10")], None, team, spend=Spend(burst_approved=approved)) == code


def book(limit: str | None, used: str | None) -> QuotaBook:
    def needed(an_offer: Any, nodes: int) -> list[QuotaNeed]:
        return [QuotaNeed(code="P", amount=Decimal(an_offer.vcpus) * nodes, region=an_offer.region)]

    quota = Quota(
        cloud="aws",
        region="us-east-1",
        code="P",
        unit="vcpus",
        market=Market.ON_DEMAND,
        limit=None if limit is None else Decimal(limit),
        used=None if used is None else Decimal(used),
    )
    return QuotaBook.of([quota], {"aws": needed})


@pytest.mark.parametrize(
    ("limit", "used", "code"),
    [
        ("192", "0", None),
        ("200", "8", None),
        ("200", "9", "quota"),
        ("191", None, "quota"),
        ("192", None, None),
        ("0", "0", "quota"),
        (None, None, None),
    ],
)
def test_quota_is_an_amount_for_all_nodes(limit: str | None, used: str | None, code: str | None) -> None:
    # two nodes of 96 vCPUs
    assert only_code([offer()], job(nodes=2), quotas=book(limit, used)) == code


def test_the_arithmetic_of_a_quota_is_told() -> None:
    [rejection] = placed([offer()], job(nodes=2), quotas=book("200", "9")).rejections

    assert rejection.detail == "needs 192 vcpus of P in us-east-1: the limit is 200, 9 in use"


def test_a_quota_that_nobody_knows_is_said_and_not_assumed() -> None:
    def told(an_offer: Offer, quotas: QuotaBook) -> bool:
        placement = placed([an_offer], quotas=quotas)
        assert placement.chosen is not None
        return "quota_unknown" in {w.code for w in placement.warnings}

    assert told(offer(), book(None, None))
    assert told(offer(), book("960", None))
    assert told(offer(region="us-west-2"), book("960", "0"))
    assert not told(offer(), book("960", "0"))
