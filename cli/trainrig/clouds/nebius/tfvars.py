"""What the Nebius root takes beyond the inputs that every cloud has."""

from __future__ import annotations

from typing import Any

from trainrig.render.request import RigRequest


def tfvars(request: RigRequest) -> dict[str, Any]:
    """Project and profile by reference; Terraform's provider finds the credentials."""
    own: dict[str, Any] = {"account": {k: request.account[k] for k in ("profile",) if k in request.account}}
    return own | {k: request.account[k] for k in ("project",) if k in request.account}
