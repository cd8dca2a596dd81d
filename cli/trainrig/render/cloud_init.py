"""Renders the user-data of a node, once for all clouds."""

from __future__ import annotations

from datetime import UTC

from jinja2 import Environment, StrictUndefined

from trainrig.model.clock import iso
from trainrig.render.request import RigRequest


def cloud_init(template: str, request: RigRequest) -> str:
    """`template` is templates/configure/cloud-init.yaml.j2; what comes from people enters it as JSON, which is YAML."""
    expires_at = request.identity.expires_at.astimezone(UTC)
    jinja = Environment(
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 -- YAML, and values enter as JSON
    )
    return jinja.from_string(template).render(
        ssh_public_key=request.ssh_public_key,
        rig_id=request.identity.resource_prefix,
        expires_at=iso(expires_at),
        expires_calendar=f"{expires_at:%Y-%m-%d %H:%M:%S} UTC",
    )
