"""What lets a node pull its image from an Azure container registry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from trainrig.render.references import split

# A registry's host is its name, and with a label of its domain also a hash behind a dash, which no name has.
_REGISTRY = re.compile(r"([a-z0-9]+)(?:-[a-z0-9]+)?\.azurecr\.io/.+")


def variables(container: str, account: Mapping[str, str]) -> dict[str, Any]:
    """Its host does not tell in which resource group a registry lies, and a role is assigned by the whole path."""
    found, group = _REGISTRY.fullmatch(split(container)[0]), account.get("registry_resource_group")
    return {"container_registry": found[1], "registry_resource_group": group} if found and group else {}


def lacking(container: str, account: Mapping[str, str]) -> str:
    found = _REGISTRY.fullmatch(split(container)[0])
    if not found or variables(container, account):
        return ""
    return (
        f"no node may pull from the registry {found[1]}: set `account: {{registry_resource_group: GROUP}}` in the "
        f"environment (az acr show --name {found[1]} --query resourceGroup), and each rig's identity gets the role "
        "AcrPull there; or give a login in the job's secrets (SKYPILOT_DOCKER_USERNAME, _PASSWORD, _SERVER)"
    )
