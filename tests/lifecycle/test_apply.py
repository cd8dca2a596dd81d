"""Failover, rollback and gang, with real Terraform against the stub cloud."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from support import rigs
from support.stub_cloud import facts, inventory, objects
from support.stub_rigs import candidate, order
from trainrig.clouds.base import Account, Resource
from trainrig.errors import (
    CredentialsMissing,
    DestroyIncomplete,
    NoCapacity,
    OverBudget,
    PlanStale,
    RigError,
    TerraformFailed,
)
from trainrig.lifecycle import apply as applying
from trainrig.lifecycle import check_nodes
from trainrig.lifecycle.apply import apply
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.destroy import destroy
from trainrig.model.fault import FaultClass
from trainrig.model.offer import Market
from trainrig.model.placement import Candidate
from trainrig.model.rig import RigState
from trainrig.store import cooldowns, ledger
from trainrig.store.journal import Attempt, AttemptState, Journal
from trainrig.tools.terraform import Terraform
from trainrig.tools.terraform_plan import TerraformPlan

pytestmark = pytest.mark.terraform

RUN = rigs.identity().run_id
stub_find = inventory.find


def zones() -> set[str]:
    return {o["zone"] for o in objects.everything() if o["type"] == "stub_node"}


def test_a_rig_comes_up_whole_and_goes_down_whole(context: Context) -> None:
    up = apply(context, order())
    assert [n.rank for n in up.nodes] == [0, 1]
    rig = context.journal.rig(RUN)
    assert (rig.state, rig.clean, up.attempt.state) == (RigState.CONFIGURING, False, AttemptState.UP)
    assert {o["labels"]["trainrig-run-id"] for o in objects.everything()} == {RUN}

    proof = destroy(context, rig)
    assert proof.clean
    assert sorted(f.type for f in proof.fates) == ["stub_network", "stub_node", "stub_node"]
    assert all(f.seen_gone_at for f in proof.fates)
    assert objects.everything() == []
    assert context.journal.rig(RUN).clean
    assert destroy(context, context.journal.rig(RUN)).clean


def test_no_capacity_rolls_back_and_goes_on_to_the_next(context: Context) -> None:
    objects.order({"op": "create", "type": "stub_node", "rank": 1, "zone": "z-a", "error": "InsufficientCapacity"})
    up = apply(context, order([candidate("z-a"), candidate("z-b")]))
    assert zones() == {"z-b"}
    assert len(objects.everything()) == 3
    first, second = context.journal.attempts(RUN)
    assert (first.state, first.fault, first.ended_at is None) == (AttemptState.GONE, FaultClass.CAPACITY, False)
    assert second == up.attempt
    (cooldown,) = cooldowns.active(context.journal, context.now())
    assert cooldown.covers(candidate("z-a").offer)
    assert not cooldown.covers(candidate("z-b").offer)


def test_zones_that_a_stock_out_names_come_first(context: Context) -> None:
    objects.order(
        {"op": "create", "type": "stub_node", "zone": "z-a", "error": "InsufficientCapacity: free in z-d, z-c"},
        {"op": "create", "type": "stub_node", "zone": "z-c", "error": "InsufficientCapacity"},
    )
    up = apply(context, order([candidate(z) for z in ("z-a", "z-b", "z-c", "z-d", "z-e")]))
    assert [a.zone for a in context.journal.attempts(RUN)] == ["z-a", "z-c", "z-d"]
    assert up.attempt.zone == "z-d"


def test_a_node_without_labels_is_not_kept(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name may tell whose it is, but no sweep would take it on that word alone."""
    monkeypatch.setattr(check_nodes, "SEEN_AFTER_SECONDS", (0.0,))
    monkeypatch.setattr(inventory, "find", _only_names)
    with pytest.raises(NoCapacity, match=r"no label of this rig on tr-\S+-0, tr-\S+-1"):
        apply(context, order())
    assert objects.everything() == []


def test_a_disk_without_labels_is_not_kept(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_nodes, "SEEN_AFTER_SECONDS", (0.0,))
    monkeypatch.setattr(inventory, "find", _with_a_disk)
    with pytest.raises(NoCapacity, match=r"no label of this rig on the disk vol-1 of tr-"):
        apply(context, order())
    assert objects.everything() == []


def _only_names(account: Account, run_id: str | None = None) -> Iterator[Resource]:
    yield from (replace(r, labelled=False) for r in stub_find(account, run_id))


def _with_a_disk(account: Account, run_id: str | None = None) -> Iterator[Resource]:
    yield from (replace(r, disks=("vol-1",)) for r in stub_find(account, run_id))


def test_after_a_quota_error_the_region_is_not_asked_again(context: Context) -> None:
    objects.order({"op": "create", "type": "stub_node", "error": "QuotaExceeded"})
    with pytest.raises(NoCapacity, match=r"z-b.*not tried, the quota is used up"):
        apply(context, order([candidate("z-a"), candidate("z-b")]))
    assert len(context.journal.attempts(RUN)) == 1


def test_when_all_refuse_nothing_is_left_and_the_name_is_free(context: Context) -> None:
    objects.order({"op": "create", "type": "stub_node", "rank": 0, "error": "InsufficientCapacity"})
    with pytest.raises(NoCapacity) as caught:
        apply(context, order([candidate(z) for z in ("z-a", "z-b", "z-c")]))
    assert len(caught.value.details["refused"]) == 3  # type: ignore[arg-type]
    assert objects.everything() == []
    rig = context.journal.rig(RUN)
    assert (rig.state, rig.clean) == (RigState.FAILED, True)
    objects.order()
    apply(context, order(identity=rigs.identity(run_id="second22")))


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        ("AccessDenied: nodes:Create", CredentialsMissing, "lack nodes:Create"),
        ("InvalidParameter: size", TerraformFailed, "the request is wrong"),
        ("Something nobody has seen", TerraformFailed, "unclassified"),
    ],
)
def test_what_would_fail_everywhere_stops_at_once(
    context: Context, words: str, error: type[RigError], said: str
) -> None:
    objects.order({"op": "create", "type": "stub_node", "error": words})
    with pytest.raises(error, match=said):
        apply(context, order([candidate("z-a"), candidate("z-b")]))
    assert len(context.journal.attempts(RUN)) == 1
    assert objects.everything() == []
    assert context.journal.rig(RUN).clean


def test_a_cloud_that_has_not_caught_up_is_tried_again(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applying, "EVENTUAL_WAIT_SECONDS", (0.0, 0.0))
    objects.order({"op": "create", "type": "stub_node", "error": "NotYetVisible", "times": 2})
    apply(context, order())
    assert len(objects.everything()) == 3


def test_a_machine_that_exists_in_spite_of_its_error_is_removed(context: Context) -> None:
    for lost in (False, True):
        objects.order(
            {"op": "create", "zone": "z-a", "rank": 0, "error": "InsufficientCapacity", "after": True, "lost": lost}
        )
        run_id = f"half{lost:d}222"
        apply(context, order([candidate("z-a"), candidate("z-b")], identity=rigs.identity(name=run_id, run_id=run_id)))
        assert zones() == {"z-b"}
        destroy(context, context.journal.rig(run_id))
        assert objects.everything() == []


def test_a_create_that_does_not_end_is_given_up_at_its_deadline(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "FACTS", replace(facts.FACTS, apply_deadline_seconds=1))
    objects.order({"op": "create", "zone": "z-a", "rank": 0, "sleep": 3})
    apply(context, order([candidate("z-a"), candidate("z-b")]))
    assert zones() == {"z-b"}
    assert context.journal.attempts(RUN)[0].reason.startswith("nothing came up within 1 s")


def test_nobody_moves_on_while_the_last_attempt_bills(context: Context) -> None:
    objects.order(
        {"op": "create", "rank": 1, "zone": "z-a", "error": "InsufficientCapacity"},
        {"op": "delete", "type": "stub_node", "error": "AccessDenied: nodes:Delete"},
    )
    with pytest.raises(DestroyIncomplete):
        apply(context, order([candidate("z-a"), candidate("z-b")]))
    rig = context.journal.rig(RUN)
    assert (rig.state, rig.clean) == (RigState.FAILED, False)
    assert zones() == {"z-a"}
    objects.order()
    assert destroy(context, rig).clean
    assert objects.everything() == []


def test_a_node_on_another_market_is_not_what_was_ordered(context: Context) -> None:
    wrong = candidate("z-a", market=Market.SPOT)

    def other_market(order_: applying.Order) -> applying.Order:
        made = order_.make_root

        def make_root(chosen: object, root: Path, attempt: str) -> None:
            made(candidate("z-a", market=Market.ON_DEMAND), root, attempt)

        return replace(order_, make_root=make_root)

    with pytest.raises(NoCapacity, match="on_demand market, spot was ordered"):
        apply(context, other_market(order([wrong])))
    assert objects.everything() == []


def test_the_price_is_asked_again_and_the_ceiling_holds(context: Context) -> None:
    prices: dict[str | None, str] = {"z-a": "2.60", "z-b": "0.90"}
    quoted: Callable[..., Decimal | None] = lambda offer: Decimal(prices[offer.zone])  # noqa: E731
    candidates = [candidate("z-a"), candidate("z-b")]
    up = apply(context, order(candidates, quote=quoted, ceiling_hour_usd=Decimal("2.00")))
    assert up.attempt.zone == "z-b"
    assert up.attempt.price_hour_usd == Decimal("0.90")  # as it was quoted, and not as it was placed
    (charge,) = ledger.charges(context.journal, up.attempt.run_id)
    assert charge.price_hour_usd == Decimal("0.90")
    prices["z-b"] = "1.01"
    with pytest.raises(OverBudget, match=r"\$2\.02 an hour now, \$2\.00 were approved"):
        apply(
            context,
            order(
                candidates,
                quote=quoted,
                ceiling_hour_usd=Decimal("2.00"),
                identity=rigs.identity(name="dear", run_id="dear2222"),
            ),
        )


def test_a_root_is_made_of_the_candidate_that_was_approved_whatever_it_costs_now(context: Context) -> None:
    """A reviewed plan knows its candidate by itself, and a root knows no prices."""
    wanted, made = order([candidate("z-a")], quote=lambda _offer: Decimal("0.10")), []

    def make_root(chosen: Candidate, root: Path, attempt: str) -> None:
        made.append(chosen)
        wanted.make_root(chosen, root, attempt)

    up = apply(context, replace(wanted, make_root=make_root))
    assert [one is wanted.candidates[0] for one in made] == [True]
    assert up.attempt.price_hour_usd == Decimal("0.10")


def test_applying_again_what_is_up_changes_nothing(context: Context) -> None:
    first = apply(context, order())
    before = objects.everything()
    assert apply(context, order()) == first
    assert objects.everything() == before


def test_every_attempt_is_on_the_bill(context: Context) -> None:
    objects.order({"op": "create", "zone": "z-a", "rank": 1, "error": "InsufficientCapacity"})
    apply(context, order([candidate("z-a", price="3.00"), candidate("z-b", price="4.00")]))
    first, second = ledger.charges(context.journal, RUN)
    assert (first.price_hour_usd, first.ended_at is None) == (Decimal("3.00"), False)
    assert (second.price_hour_usd, second.ended_at, second.nodes) == (Decimal("4.00"), None, 2)


def test_another_plan_than_the_reviewed_one_is_not_applied(context: Context) -> None:
    def review(_terraform: Terraform, plan: TerraformPlan) -> None:
        assert plan.count("create") == 3
        raise PlanStale("another one")

    with pytest.raises(PlanStale):
        apply(context, order(review=review))
    assert objects.everything() == []
    assert context.journal.rig(RUN).clean


def test_a_reservation_is_bought_on_demand(context: Context) -> None:
    reserved = order([candidate(market=Market.RESERVED)])

    def as_bought(_chosen: Candidate, root: Path, attempt: str) -> None:
        reserved.make_root(candidate(market=Market.ON_DEMAND), root, attempt)

    apply(context, replace(reserved, make_root=as_bought))
    assert len(objects.everything()) == 3


def test_a_refusal_is_not_the_end_of_a_run(context: Context) -> None:
    """Its name is not given away while it waits for machines, and whoever goes on with it finds it unended."""
    objects.order({"op": "create", "type": "stub_node", "error": "InsufficientCapacity"})
    with pytest.raises(NoCapacity):
        apply(context, order(), of_run=True)
    rig = context.journal.rig(RUN)
    assert (rig.state, rig.clean) == (RigState.RECOVERING, False)
    assert objects.everything() == []


def test_a_kill_right_after_a_failed_attempt_is_gone_leaves_no_bill_open(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects.order({"op": "create", "type": "stub_node", "rank": 1, "error": "NotYetVisible", "times": 1})
    update = Journal.update_attempt

    def killed(journal: Journal, attempt: Attempt, state: AttemptState, **more: Any) -> Attempt:
        found = update(journal, attempt, state, **more)
        if state is AttemptState.GONE:
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as first:
        first.setattr(Journal, "update_attempt", killed)
        with pytest.raises(KeyboardInterrupt):
            apply(context, order())
    assert apply(context, order()).attempt.number == 2
    assert [c.ended_at is None for c in ledger.charges(context.journal, RUN)] == [False, True]
