from __future__ import annotations

from typing import Any

import pytest

from trainrig.errors import TerraformFailed, UnsafePlan
from trainrig.tools.terraform_plan import REDACTED, parse, redact


def change(address: str, *actions: str, **more: Any) -> dict[str, Any]:
    return {
        "address": address,
        "mode": "managed",
        "type": address.partition(".")[0],
        "change": {"actions": list(actions), "before": None, "after": {}, **more},
    }


def document(*changes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"format_version": "1.2", "resource_changes": list(changes), **more}


def test_counts_are_those_of_the_contract() -> None:
    plan = parse(
        document(
            change("a.new", "create"),
            change("a.same", "no-op"),
            change("a.other", "update"),
            change("a.swap", "delete", "create"),
            change("a.old", "delete"),
        )
    )
    assert plan.summary == {"add": 1, "change": 1, "destroy": 1, "replace": 1}


def test_a_plan_that_only_adds_is_safe() -> None:
    parse(document(change("a.new", "create"), change("a.other", "update"))).raise_if_unsafe()


@pytest.mark.parametrize("actions", [["delete"], ["delete", "create"], ["create", "delete"], ["forget"]])
def test_deleting_replacing_or_forgetting_is_refused_by_name(actions: list[str]) -> None:
    plan = parse(
        document(change("google_compute_instance.node[0]", *actions, replace_paths=[["boot_disk", 0, "image"]]))
    )
    with pytest.raises(UnsafePlan, match=r"google_compute_instance\.node\[0\] because of boot_disk\.0\.image"):
        plan.raise_if_unsafe()


def test_data_sources_are_not_changes() -> None:
    assert parse(document({**change("data.x.y", "read"), "mode": "data"})).changes == ()


def test_the_digest_is_of_the_meaning() -> None:
    one = document(change("a.x", "create", after={"n": 1}), change("a.y", "create"), timestamp="2026-01-01T00:00:00Z")
    same = document(change("a.y", "create"), change("a.x", "create", after={"n": 1}), terraform_version="9")
    other = document(change("a.x", "create", after={"n": 2}), change("a.y", "create"))
    assert parse(one).digest == parse(same).digest
    assert parse(one).digest != parse(other).digest


def test_sensitive_values_do_not_get_in() -> None:
    plan = parse(
        document(
            change(
                "a.x",
                "create",
                after={"user_data": "token=hush", "disk": [{"key": "hush", "size": 1}]},
                after_sensitive={"user_data": True, "disk": [{"key": True}]},
            )
        )
    )
    assert plan.changes[0].after == {"user_data": REDACTED, "disk": [{"key": REDACTED, "size": 1}]}
    assert "hush" not in repr(plan)


def test_redaction_follows_the_shape_of_the_marks() -> None:
    assert redact([1, 2, 3], [False, True]) == [1, REDACTED, 3]
    assert redact({"a": {"b": 1}}, {"a": True}) == {"a": REDACTED}
    assert redact("x", False) == "x"


def test_drift_says_gone_or_what_changed() -> None:
    gone = change("a.gone", "delete", before={"id": "1"}, after=None)
    edited = change("a.edited", "update", before={"id": "1", "tags": {}}, after={"id": "1", "tags": {"x": "y"}})
    plan = parse(document(resource_drift=[gone, edited]))
    assert [(d.address, d.gone, d.changed) for d in plan.drift] == [
        ("a.gone", True, ("id",)),
        ("a.edited", False, ("tags",)),
    ]


def test_an_unknown_format_or_action_is_refused() -> None:
    with pytest.raises(TerraformFailed, match=r"format 2\.0"):
        parse({"format_version": "2.0"})
    with pytest.raises(TerraformFailed, match="teleport"):
        parse(document(change("a.x", "teleport")))
