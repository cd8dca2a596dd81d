"""The module inputs that only this cloud has: an instance type is a limit, not a machine."""

from __future__ import annotations

from typing import Any

from trainrig.render.request import RigRequest


def tfvars(request: RigRequest) -> dict[str, Any]:
    offer = request.candidate.offer
    return {"cpus": offer.vcpus, "memory_mib": int(offer.memory_gib * 1024), "gpus": offer.gpu_count}
