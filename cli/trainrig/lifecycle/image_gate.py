"""Takes candidates out of a placement that no locked machine image can serve, before anybody pays for them."""

from __future__ import annotations

from dataclasses import replace

from trainrig.clouds import registry
from trainrig.lifecycle import pins
from trainrig.model.job import Job
from trainrig.model.placement import Placement, Rejection
from trainrig.render.images import choose


def gated(placement: Placement, job: Job) -> Placement:
    """The same placement; what has no image, or one whose driver and the job's CUDA cannot meet, is rejected.

    Raises:
        SpecInvalid: trainrig.lock is not a lock.
    """
    clouds = tuple(sorted({c.offer.cloud for c in placement.candidates}))
    lock, matrix = pins.load_lock(job, clouds), pins.matrix()
    kept, refused = [], []
    for candidate in placement.candidates:
        offer = candidate.offer
        choice = None if registry.has(offer.cloud, "built_images") else choose(offer, job, lock, matrix)
        if choice is None or choice.code is None:
            kept.append(candidate)
        else:
            refused.append(Rejection(offer=offer, code=choice.code, detail=choice.detail))
    if not refused:
        return placement
    return replace(
        placement,
        chosen=kept[0] if kept else None,
        fallbacks=tuple(kept[1:]),
        rejections=(*placement.rejections, *refused),
    )
