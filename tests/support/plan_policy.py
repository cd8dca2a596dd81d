"""The rules of render/policy.py over `terraform show -json`, each a list of sentences, and what only tests look for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from trainrig.model.plan import PlannedResource
from trainrig.render import policy
from trainrig.render.policy import Expected

Plan = Mapping[str, Any]


def resources(plan: Plan) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(address, type, planned values) of each managed resource."""
    for change in plan["resource_changes"]:
        if change["mode"] == "managed" and change["change"]["after"] is not None:
            yield change["address"], change["type"], change["change"]["after"]


def planned(plan: Plan) -> list[PlannedResource]:
    return [PlannedResource(address=a, type=t, actions=("create",), values=v) for a, t, v in resources(plan)]


def broken(plan: Plan, expected: Expected) -> list[str]:
    """`code: address: what is wrong` of every rule."""
    rules, findings = policy.check(planned(plan), expected)
    assert rules
    assert all(rule.holds is not None for rule in rules)
    return [f"{f.code}: {f.address}: {f.detail}" for f in findings]


def secrets(plan: Plan) -> list[str]:
    """Private keys anywhere in the plan."""
    return [mark for mark in ("PRIVATE KEY", "ed25519_private") if mark in json.dumps(plan)]
