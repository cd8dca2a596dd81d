"""What the AWS root takes beyond the inputs that every cloud has."""

from __future__ import annotations

from typing import Any

from trainrig.clouds.aws import image_rights
from trainrig.render.request import RigRequest

ACCOUNT = ("profile", "role_arn", "account_id")
OPTIONS = ("permissions_boundary", "checkpoint_kms_key_arn")


def tfvars(request: RigRequest) -> dict[str, Any]:
    """The account by reference, and what the environment says about it."""
    own: dict[str, Any] = {"account": {k: request.account[k] for k in ACCOUNT if k in request.account}}
    own |= {k: request.account[k] for k in OPTIONS if k in request.account}
    return own | (image_rights.variables(request.container, request.account) if request.container else {})
