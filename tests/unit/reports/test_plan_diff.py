from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from support import schemas
from trainrig.reports import plan_diff
from trainrig.reports.plan_diff import PlanDiff

CANDIDATE = {"cloud": "aws", "region": "us-east-1", "zone": None, "instance_type": "p4d.24xlarge", "nodes": 1}
PLAN: dict[str, Any] = {
    "job": "finetune",
    "chosen": CANDIDATE,
    "fallbacks": [{**CANDIDATE, "region": "us-west-2"}, {**CANDIDATE, "region": "eu-west-1"}],
    "cost": {"expected_usd": "100.00", "rig_hour_usd": "10.0", "ceiling_hour_usd": "12.0"},
    "pins": {"driver": "580.126.09"},
    "work": {"command": "set -e\npython a.py\necho done", "variable LR": "1"},
    "resource_changes": [
        {"address": "m.aws_instance.node[0]", "type": "aws_instance", "actions": ["create"]},
        {"address": "m.aws_vpc.rig[0]", "type": "aws_vpc", "actions": ["create"]},
    ],
    "findings": [{"code": "no_lock", "detail": "the shipped pins serve", "address": None}],
}
ROOT = {"main.tf": "a\n", "terraform.tfvars.json": json.dumps({"disk_gb": 256, "rig": {"labels": {"team": "ml"}}})}


def compare(root: dict[str, str] | None = None, **changes: Any) -> PlanDiff:
    new = {**copy.deepcopy(PLAN), **changes}
    return plan_diff.compare(PLAN, new, roots=(ROOT, root or ROOT), tolerance_percent=plan_diff.TOLERANCE_PERCENT)


def cost(expected: str) -> dict[str, Any]:
    return {**PLAN["cost"], "expected_usd": expected}


def test_two_equal_plans_are_the_same() -> None:
    diff = compare()
    assert diff.same
    assert plan_diff.text(diff) == "finetune: the two plans are the same"


@pytest.mark.parametrize(("expected", "same"), [("109.99", True), ("90.01", True), ("110.01", False), ("89.00", False)])
def test_a_price_that_moves_within_the_tolerance_is_no_difference(expected: str, same: bool) -> None:
    assert compare(cost=cost(expected)).same is same


def test_a_dearer_plan_says_by_how_much() -> None:
    assert compare(cost=cost("150.00")).costs == (("expected", "$100.00", "$150.00 (+50 %)"),)


def test_fallbacks_come_go_and_change_places() -> None:
    assert compare(fallbacks=PLAN["fallbacks"][:1]).place == (("fallback", "aws/eu-west-1 p4d.24xlarge", None),)
    assert compare(fallbacks=PLAN["fallbacks"][::-1]).place == (
        (
            "order of fallbacks, from 1",
            "aws/us-west-2 p4d.24xlarge, aws/eu-west-1 p4d.24xlarge",
            "aws/eu-west-1 p4d.24xlarge, aws/us-west-2 p4d.24xlarge",
        ),
    )


def test_more_nodes_are_one_line() -> None:
    fallbacks = [{**c, "nodes": 2} for c in PLAN["fallbacks"]]
    assert compare(chosen={**CANDIDATE, "nodes": 2}, fallbacks=fallbacks).place == (("nodes", "1", "2"),)


def test_of_a_script_the_lines_that_differ_are_shown() -> None:
    work = {"command": "set -e\npython b.py\necho done\necho bye", "variable LR": "2", "SSH from": "203.0.113.7/32"}
    assert compare(work=work).work == (
        ("command, line 2", "python a.py", "python b.py"),
        ("command, line 4", None, "echo bye"),
        ("variable LR", "1", "2"),
    )


def test_a_policy_that_changed_shows_the_statement() -> None:
    def role(*statements: str) -> list[dict[str, Any]]:
        policy = json.dumps(
            {"Statement": [{"Sid": s, "Effect": "Allow", "Action": [s], "Resource": "*"} for s in statements]}
        )
        values = {"policy": policy, "name": "x"}
        address = "m.aws_iam_role_policy.node[0]"
        return [{"address": address, "type": "aws_iam_role_policy", "actions": ["create"], "values": values}]

    old = {**PLAN, "resource_changes": role("read")}
    new = {**PLAN, "resource_changes": role("read", "write")}
    diff = plan_diff.compare(old, new, roots=(ROOT, ROOT), tolerance_percent=plan_diff.TOLERANCE_PERCENT)
    what = "Rights: m.aws_iam_role_policy.node[0] policy write"
    assert diff.resources == ((what, None, "Allow write on *"),)


def test_rights_and_ways_in_come_before_machines() -> None:
    more = [
        {"address": "m.aws_eip.node[0]", "type": "aws_eip", "actions": ["create"]},
        {"address": "m.aws_instance.node[1]", "type": "aws_instance", "actions": ["create"]},
        {"address": "m.aws_iam_role.node[0]", "type": "aws_iam_role", "actions": ["create"]},
    ]
    diff = compare(resource_changes=[*PLAN["resource_changes"], *more])
    assert [what for what, _, _ in diff.resources] == [
        "Rights: m.aws_iam_role.node[0]",
        "Network: m.aws_eip.node[0]",
        "Machines and the rest: m.aws_instance.node[1]",
    ]


def test_pins_findings_values_and_files_are_compared_one_by_one() -> None:
    root = {"main.tf": "b\n", "terraform.tfvars.json": json.dumps({"disk_gb": 500, "rig": {"labels": {"team": "ml"}}})}
    diff = compare(root, pins={"driver": "595.91.07"}, findings=[])
    assert diff.pins == (("driver", "580.126.09", "595.91.07"),)
    assert diff.findings == (("no_lock", "the shipped pins serve", None),)
    assert diff.values == (("disk_gb", "256", "500"),)
    ((path, old, new),) = diff.files
    assert path == "main.tf"
    assert old != new


def test_the_document_follows_its_schema_and_the_texts_show_every_section() -> None:
    diff = compare(cost=cost("150.00"), pins={}, findings=[])
    schemas.check(plan_diff.to_document(diff))
    for shown in (plan_diff.text(diff), plan_diff.markdown(diff)):
        for word in ("Cost", "Pins", "Findings", "+50 %", "580.126.09"):
            assert word in shown
