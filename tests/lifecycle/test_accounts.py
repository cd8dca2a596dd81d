"""A cloud with several accounts: what fails in one goes on in the next, and is taken down where it was made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support import rigs
from support.stub_cloud import inventory, objects
from support.stub_rigs import candidate, order
from trainrig.clouds.base import Account, Resource
from trainrig.errors import PreflightFailed
from trainrig.lifecycle.apply import apply
from trainrig.lifecycle.context import Context, opened
from trainrig.lifecycle.destroy import destroy
from trainrig.lifecycle.sweep import sweep
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.fault import FaultClass

pytestmark = pytest.mark.terraform

ENVIRONMENT = Environment(
    name="test",
    clouds=(
        CloudPolicy(cloud="stub", name="grant", account={"key": "g"}),
        CloudPolicy(cloud="stub", name="main", account={"key": "m"}),
    ),
)
RUN = rigs.identity().run_id


@pytest.fixture
def context(stub: Path) -> Iterator[Context]:
    with opened(ENVIRONMENT) as context:
        yield context


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The accounts whose inventory was looked at."""
    found: list[tuple[str, Any]] = []
    real = inventory.find

    def find(account: Account, run_id: str | None = None) -> Iterator[Resource]:
        found.append((account.name, account.settings["key"]))
        return real(account, run_id)

    monkeypatch.setattr(inventory, "find", find)
    return found


def test_a_full_account_is_no_reason_not_to_try_the_next(context: Context, asked: list[tuple[str, Any]]) -> None:
    objects.order({"op": "create", "type": "stub_node", "error": "QuotaExceeded", "times": 1})
    in_grant, in_main = (replace(candidate("z-a", nodes=1), account=name) for name in ("grant", "main"))

    up = apply(context, order([in_grant, in_main]))

    first, second = context.journal.attempts(RUN)
    assert (first.account, first.fault) == ("grant", FaultClass.QUOTA)
    assert (second.account, second) == ("main", up.attempt)
    asked.clear()
    assert destroy(context, context.journal.rig(RUN)).clean
    assert {*asked} == {("grant", "g"), ("main", "m")}
    assert objects.everything() == []


def test_a_sweep_looks_into_every_account(context: Context, asked: list[tuple[str, Any]]) -> None:
    sweep(context, delete=False)
    assert asked == [("grant", "g"), ("main", "m")]


def test_an_account_that_the_environment_no_longer_has_is_not_taken_for_empty(context: Context) -> None:
    apply(context, order([replace(candidate("z-a", nodes=1), account="grant")]))
    only_main = replace(ENVIRONMENT, clouds=ENVIRONMENT.clouds[1:])

    with pytest.raises(PreflightFailed, match="has no account grant of stub"):
        replace(context, environment=only_main).account("stub", (), "grant")
    objects.order({"op": "delete", "error": "Broken"})  # Terraform cannot, and nobody else may be asked
    proof = destroy(replace(context, environment=only_main), context.journal.rig(RUN))
    assert not proof.clean
    objects.order()
    assert destroy(context, context.journal.rig(RUN)).clean
