"""The inputs that every rig module of every cloud has, as data for terraform.tfvars.json.

Terraform reads that file as plain JSON: nothing in it is interpolated, so a user's text can say what it likes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainrig.errors import RigError, UsageError
from trainrig.model.clock import iso
from trainrig.render.request import RigRequest


def common(request: RigRequest) -> dict[str, Any]:
    """Inputs that each module declares. `rig.id` is what every resource name starts with."""
    identity, offer = request.identity, request.candidate.offer
    return {
        "rig": {
            "name": identity.name,
            "id": identity.resource_prefix,
            "owner": identity.owner,
            "expires_at": iso(identity.expires_at),
            "labels": identity.all_labels(),
        },
        "nodes": request.nodes,
        "region": offer.region,
        "zone": offer.zone,
        "instance_type": offer.instance_type,
        "market": offer.market.value,
        "disk_gb": request.disk_gb,
        "image": request.image.id,
        "ssh_public_key": request.ssh_public_key,
        "ssh_ingress_cidrs": list(request.ssh_ingress_cidrs),
        "lease_seconds": request.lease_seconds,
    }


def wishes(request: RigRequest) -> dict[str, Any]:
    """Inputs that only some jobs need; a module without one of them cannot serve such a job."""
    values: dict[str, Any] = {
        "checkpoint_prefix": request.checkpoint_prefix,
        "read_write_urls": list(request.read_write_urls),
        "read_only_urls": list(request.read_only_urls),
        "existing_network": dict(request.existing_network),
        "reservation": request.reservation,
    }
    return {name: value for name, value in values.items() if value}


def tfvars(request: RigRequest, own: Mapping[str, Any], declared: tuple[str, ...]) -> dict[str, Any]:
    """All inputs of a root. `own` are those that only this cloud has, `declared` the variables of its module.

    Raises:
        UsageError: the job wishes what the module cannot do.
        RigError: trainrig and the module disagree about an input.
    """
    asked = wishes(request)
    cloud = request.candidate.offer.cloud
    if missing := sorted(set(asked) - set(declared)):
        raise UsageError(
            f"{cloud} has no {' and no '.join(missing)}",
            hint="leave it out of the job file and the environment, or place the job on another cloud",
        )
    values = {**common(request), **asked, **own}
    if unknown := sorted(set(values) - set(declared)):
        raise RigError(f"the {cloud} module declares no variable {', '.join(unknown)}")
    return values
