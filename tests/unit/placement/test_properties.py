"""What must hold for every catalogue and every job."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from support.offers import COSTS, NOW, environment, job, option, placed
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.job import Checkpoints, GpuRequest, Job, Mount, PlacementWishes
from trainrig.model.offer import Market, Offer
from trainrig.model.placement import Placement
from trainrig.model.tariff import CloudCosts, Hazard
from trainrig.reports.placement_json import from_document, to_document
from trainrig.reports.placement_markdown import markdown
from trainrig.reports.placement_text import text

RISK = (Hazard(per_hour=Decimal("0.3"), source="a test"),)
CLOUDS: dict[str, CloudCosts] = {
    cloud: replace(costs, tariff=replace(costs.tariff, hazards=RISK, setup_minutes=Decimal(7)))
    for cloud, costs in COSTS.items()
}

prices = st.one_of(st.none(), st.decimals("-1", "200", places=4), st.sampled_from([Decimal(0), Decimal(10)]))
offers = st.builds(
    Offer,
    cloud=st.sampled_from(["aws", "gcp", "azure", "lambda"]),
    region=st.sampled_from(["us-east-1", "us-east-2", "eu-west-1"]),
    zone=st.sampled_from([None, "a", "b", "c"]),
    instance_type=st.sampled_from(["big", "small", "other"]),
    gpu=st.sampled_from([None, "A100", "A100-80GB", "H100", "Unheard-Of"]),
    gpu_count=st.sampled_from([0, 1, 8]),
    gpu_memory_gib=st.one_of(st.none(), st.floats(0, 200)),
    vcpus=st.floats(0, 200),
    memory_gib=st.floats(0, 2000),
    market=st.sampled_from(Market),
    price_hour_usd=prices,
    captured_at=st.sampled_from([NOW, NOW - timedelta(days=60), NOW + timedelta(days=1)]),
    source=st.sampled_from(["x", "y"]),
    flags=st.sampled_from([(), ("other_sku",), ("a flag of tomorrow",)]),
)
catalogues = st.lists(offers, max_size=10)
options = st.builds(
    option,
    cloud=st.sampled_from([None, None, "aws", "gcp"]),
    region=st.sampled_from([None, None, "us-east-1"]),
    market=st.sampled_from([None, None, *Market]),
    gpus=st.sampled_from(
        [(), (GpuRequest(name="A100", count=8),), (GpuRequest(name="H100", count=8), GpuRequest(name="A100", count=1))]
    ),
    gpus_ordered=st.booleans(),
    max_hourly_usd=st.sampled_from([None, None, Decimal(50)]),
    disk_gb=st.integers(0, 10_000),
)
mounts = st.builds(
    Mount,
    target=st.just("/data"),
    source=st.sampled_from(["s3://a", "gs://b", "/home/c", None]),
    size_gb=st.one_of(st.none(), st.decimals("0", "100000", places=2)),
    region=st.sampled_from([None, "us-east-1", "eu-west-1"]),
)
jobs = st.builds(
    job,
    options=st.lists(options, min_size=1, max_size=3).map(tuple),
    ordered=st.booleans(),
    nodes=st.integers(1, 16),
    expected_hours=st.one_of(st.none(), st.decimals("0.001", "1000000", places=3)),
    mounts=st.lists(mounts, max_size=2).map(tuple),
    checkpoints=st.one_of(st.none(), st.builds(Checkpoints, path=st.just("/c"), interval_minutes=st.none())),
    budget_usd=st.sampled_from([None, Decimal(500)]),
    deadline=st.sampled_from([None, NOW - timedelta(hours=1), NOW + timedelta(hours=30)]),
    placement=st.builds(
        PlacementWishes,
        profile=st.sampled_from(["balanced", "cost", "speed"]),
        fallbacks=st.sampled_from([None, 0, 2]),
        same=st.sampled_from(["zone", "region"]),
    ),
)


def teams(accounts: st.SearchStrategy[str]) -> st.SearchStrategy[Environment]:
    """Environments whose accounts are named like this."""
    return st.builds(
        environment,
        clouds=st.lists(
            st.builds(
                CloudPolicy,
                cloud=st.sampled_from(["aws", "gcp", "azure", "lambda"]),
                name=accounts,
                credit_limit_usd=st.sampled_from([None, Decimal(100)]),
                priority=st.integers(0, 2),
                burst=st.sampled_from(["allow", "approve", "deny"]),
                regions=st.sampled_from([(), ("us-east-1",)]),
            ),
            unique_by=lambda policy: (policy.cloud, policy.name),
            max_size=5,
        ).map(tuple),
        failover=st.sampled_from([(), ("gcp", "aws/us-east-1"), ("aws/us-east-1/b",)]),
        price_caps_gpu_hour_usd=st.sampled_from([{}, {"A100": Decimal(5), "*": Decimal(20)}]),
        max_price_age_hours=st.sampled_from([24, 24 * 365]),
    )


environments = teams(st.just(""))
environments_with_accounts = teams(st.sampled_from(["grant", "main"]))


def put(catalogue: list[Offer], a_job: Job, team: Environment) -> Placement:
    return placed(catalogue, a_job, team, costs=CLOUDS)


def bare(offer: Offer) -> str:
    return repr(replace(offer, flags=()))


@settings(max_examples=100, deadline=None)
@given(catalogue=catalogues, a_job=jobs, team=environments | environments_with_accounts, seed=st.integers())
def test_the_order_of_the_catalogue_does_not_matter(
    catalogue: list[Offer], a_job: Job, team: Environment, seed: int
) -> None:
    shuffled = random.Random(seed).sample(catalogue, len(catalogue))

    assert put(shuffled, a_job, team) == put(catalogue, a_job, team)


@settings(max_examples=100, deadline=None)
@given(catalogue=catalogues, a_job=jobs, team=environments)
def test_every_offer_is_chosen_or_a_fallback_or_rejected_once(
    catalogue: list[Offer], a_job: Job, team: Environment
) -> None:
    placement = put(catalogue, a_job, team)

    seen = [c.offer for c in placement.candidates] + [r.offer for r in placement.rejections]
    assert Counter(map(bare, seen)) == Counter(map(bare, catalogue))
    assert from_document(to_document(placement)) == placement
    assert placement.job in text(placement)
    assert placement.job in markdown(placement)


@settings(max_examples=100, deadline=None)
@given(catalogue=st.lists(offers, max_size=10, unique_by=bare), a_job=jobs, team=environments_with_accounts)
def test_an_offer_is_rejected_or_a_candidate_once_for_each_account_that_may_hold_it(
    catalogue: list[Offer], a_job: Job, team: Environment
) -> None:
    everything = replace(a_job, placement=replace(a_job.placement, fallbacks=None))
    placement = put(catalogue, everything, team)

    chosen = [(bare(c.offer), c.account) for c in placement.candidates]
    assert len(chosen) == len(set(chosen))
    assert {name for _, name in chosen} <= {"grant", "main"}
    assert {offer for offer, _ in chosen} | {bare(r.offer) for r in placement.rejections} == set(map(bare, catalogue))
    for c in placement.candidates:
        alone = put(catalogue, everything, team.using(c.offer.cloud, c.account))
        assert (c.offer, c.account) in [(other.offer, other.account) for other in alone.candidates]
    assert from_document(to_document(placement)) == placement


@settings(max_examples=100, deadline=None)
@given(catalogue=catalogues, a_job=jobs, team=environments)
def test_a_cheaper_offer_that_fits_never_loses_under_cost(
    catalogue: list[Offer], a_job: Job, team: Environment
) -> None:
    plain = replace(a_job, ordered=False, placement=replace(a_job.placement, profile="cost", fallbacks=None))
    plain = replace(plain, options=tuple(replace(o, gpus_ordered=False) for o in plain.options))
    accounts = tuple(replace(c, priority=0, credit_limit_usd=None) for c in team.clouds)
    no_wishes = replace(team, failover=(), clouds=accounts)

    before = put(catalogue, plain, no_wishes)
    if before.chosen is None:
        return
    best = before.chosen.offer
    assert best.price_hour_usd is not None
    cheaper = replace(best, instance_type="cheaper", price_hour_usd=best.price_hour_usd * Decimal("0.9"), flags=())

    after = put([*catalogue, cheaper], plain, no_wishes)

    assert after.chosen is not None
    assert after.chosen.offer == cheaper
    assert after.chosen.expected_cost_usd == min(c.expected_cost_usd for c in after.candidates)


@settings(max_examples=100, deadline=None)
@given(catalogue=catalogues, a_job=jobs, team=environments | environments_with_accounts)
def test_no_candidate_is_past_a_limit(catalogue: list[Offer], a_job: Job, team: Environment) -> None:
    for c in put(catalogue, a_job, team).candidates:
        price = c.offer.price_hour_usd
        assert price is not None
        assert price > 0
        assert a_job.budget_usd is None or c.expected_cost_usd <= a_job.budget_usd
        assert any(o.max_hourly_usd is None or price <= o.max_hourly_usd for o in a_job.options)
        caps = team.price_caps_gpu_hour_usd
        cap = caps.get(c.offer.gpu, caps.get("*")) if c.offer.gpu else None
        assert cap is None or price <= cap * c.offer.gpu_count
        assert a_job.deadline is None or a_job.deadline > NOW
        assert sum((c.parts.compute_usd, c.parts.setup_usd, c.parts.egress_usd)) >= 0
