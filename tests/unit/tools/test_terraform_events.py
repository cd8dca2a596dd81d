from __future__ import annotations

import json
from typing import Any

import pytest

from trainrig.errors import TerraformFailed
from trainrig.tools import terraform_events as events

RESOURCE = {"resource": {"addr": "aws_instance.node[1]", "resource_type": "aws_instance"}}


def line(kind: str, **more: Any) -> str:
    return json.dumps({"type": kind, "@message": "for people", **more})


@pytest.mark.parametrize(
    ("text", "event"),
    [
        (line("version", terraform="1.11.4", ui="1.2"), events.Version(terraform="1.11.4")),
        (
            line("planned_change", change={**RESOURCE, "action": "create"}),
            events.PlannedChange(address="aws_instance.node[1]", type="aws_instance", action="create"),
        ),
        (
            line("resource_drift", change={**RESOURCE, "action": "delete"}),
            events.ResourceDrift(address="aws_instance.node[1]", type="aws_instance", action="delete"),
        ),
        (
            line("apply_complete", hook={**RESOURCE, "action": "create", "elapsed_seconds": 3, "id_value": "i-1"}),
            events.Apply(
                step="complete",
                address="aws_instance.node[1]",
                type="aws_instance",
                action="create",
                elapsed_seconds=3,
                id="i-1",
            ),
        ),
        (
            line("change_summary", changes={"add": 1, "change": 2, "remove": 3, "operation": "apply"}),
            events.ChangeSummary(operation="apply", add=1, change=2, remove=3),
        ),
        (
            line(
                "diagnostic",
                diagnostic={
                    "severity": "error",
                    "summary": "InsufficientInstanceCapacity",
                    "detail": "in us-east-1a",
                    "address": "aws_instance.node[1]",
                    "range": {"filename": "main.tf", "start": {"line": 7}},
                },
            ),
            events.Diagnostic(
                severity="error",
                summary="InsufficientInstanceCapacity",
                detail="in us-east-1a",
                address="aws_instance.node[1]",
                file="main.tf",
                line=7,
            ),
        ),
        (
            line("outputs", outputs={"nodes": {"sensitive": False, "value": [1]}, "key": {"sensitive": True}}),
            events.Outputs(values={"nodes": [1]}),
        ),
    ],
)
def test_each_kind_becomes_its_type(text: str, event: events.TerraformEvent) -> None:
    assert events.parse(text) == event


@pytest.mark.parametrize("text", [line("provision_progress"), line("something_new"), "plain words", "{broken", ""])
def test_what_is_unknown_is_passed_over(text: str) -> None:
    assert events.parse(text) is None


def test_another_major_version_is_refused() -> None:
    with pytest.raises(TerraformFailed, match=r"2\.0"):
        events.parse(line("version", terraform="2.0.0", ui="2.0"))
