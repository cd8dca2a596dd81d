"""Placement groups for moto, which has none: made, tagged, listed and deleted, in one account and region."""

from __future__ import annotations

from typing import Any

import pytest
from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    groups: dict[str, dict[str, Any]] = {}

    def create(self: Any) -> ActionResult:
        name = self._get_param("GroupName")
        tags = [t for spec in self._get_param("TagSpecification", []) for t in spec.get("Tag", spec.get("Tags", []))]
        groups[name] = {"GroupName": name, "State": "available", "Strategy": "cluster", "Tags": tags}
        return ActionResult({"PlacementGroup": groups[name]})

    def describe(self: Any) -> ActionResult:
        return ActionResult({"PlacementGroups": list(groups.values())})

    def delete(self: Any) -> ActionResult:
        groups.pop(self._get_param("GroupName"), None)
        return ActionResult({})

    for name, method in (("create", create), ("describe", describe), ("delete", delete)):
        call = f"{name}_placement_group{'s' if name == 'describe' else ''}"
        monkeypatch.setattr(EC2Response, call, method, raising=False)
