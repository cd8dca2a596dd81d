"""What the Azure root takes beyond the inputs that every cloud has."""

from __future__ import annotations

from typing import Any

from trainrig.clouds.azure import image_rights
from trainrig.render.request import RigRequest

ACCOUNT = ("subscription", "tenant", "client_id")
GROUPS = ("storage_resource_group", "data_resource_group")


def tfvars(request: RigRequest) -> dict[str, Any]:
    own: dict[str, Any] = {"account": {k: request.account[k] for k in ACCOUNT if k in request.account}}
    own |= {k: request.account[k] for k in GROUPS if k in request.account}
    if "encryption_at_host" in request.account:
        own["encryption_at_host"] = request.account["encryption_at_host"] == "true"
    return own | (image_rights.variables(request.container, request.account) if request.container else {})
