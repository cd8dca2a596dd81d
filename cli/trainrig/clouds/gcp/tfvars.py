"""What the Google Cloud root takes beyond the inputs that every cloud has."""

from __future__ import annotations

from typing import Any

from trainrig.clouds.gcp import image_rights
from trainrig.render.request import RigRequest

ACCOUNT = ("project", "impersonate_service_account")

# N1 machines carry no GPU in their name; these attach to them, under the names that Compute Engine has for them.
ATTACHABLE = {
    "K80": "nvidia-tesla-k80",
    "P4": "nvidia-tesla-p4",
    "P100": "nvidia-tesla-p100",
    "T4": "nvidia-tesla-t4",
    "V100": "nvidia-tesla-v100",
}


def tfvars(request: RigRequest) -> dict[str, Any]:
    offer = request.candidate.offer
    own: dict[str, Any] = {
        "account": {k: request.account[k] for k in ACCOUNT if k in request.account},
        "local_ssd": offer.local_disk_gb > 0,  # only what the offer's price includes
    }
    if offer.instance_type.startswith("n1-") and offer.gpu in ATTACHABLE:
        own["accelerator"] = {"type": ATTACHABLE[offer.gpu], "count": offer.gpu_count}
    return own | (image_rights.variables(request.container, request.account) if request.container else {})
