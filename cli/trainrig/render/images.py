"""Chooses the machine image of a rig from the lock, and says why none will do."""

from __future__ import annotations

import re
from dataclasses import dataclass

from trainrig.model.job import Job, ResourceOption
from trainrig.model.offer import Offer
from trainrig.model.placement import RejectionCode
from trainrig.render import references
from trainrig.render.gate import Matrix, Mix, Verdict, container_cuda, judge
from trainrig.render.lockfile import ImagePin, Lock
from trainrig.render.request import PinnedImage

_ARM64 = {
    "aws": re.compile(r"[a-z]+\d+g[a-z]*\.|p6e-|a1\."),
    "gcp": re.compile(r"(t2a|c4a|n4a|a4x)-"),
    "azure": re.compile(r"Standard_[A-Z]+\d+(-\d+)?p|Standard_ND\d+isr_GB"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageChoice:
    """`image` is None when `code` and `detail` say why; `notes` are for the plan."""

    image: PinnedImage | None
    code: RejectionCode | None = None
    detail: str = ""
    notes: tuple[str, ...] = ()


def choose(offer: Offer, job: Job, lock: Lock, matrix: Matrix) -> ImageChoice:
    """The first image of the lock that fits the machine, the pins and the container."""
    own, pins = _asked_for(offer, job), job.pins
    if own is not None:
        return _own(own, offer, job, matrix)
    arch = architecture(offer)
    of_cloud = [i for i in lock.images if i.cloud == offer.cloud and i.arch == arch and i.id_in(offer.region)]
    pinned = [i for i in of_cloud if _has(pins.driver, i.driver) and (pins.cuda is None or _has(pins.cuda, i.cuda))]
    # A toolkit in the image is a convenience; what a container needs is the driver alone.
    candidates = pinned or [i for i in of_cloud if _has(pins.driver, i.driver)]
    if not candidates:
        wanted = f" with driver {pins.driver}" if of_cloud and pins.driver else ""
        where = f"{offer.cloud} {offer.region}"
        return ImageChoice(
            image=None,
            code=RejectionCode.NO_IMAGE,
            detail=f"no {arch} machine image{wanted} is locked for {where}; `trainrig lock` looks for one",
        )
    verdicts = [(i, judge(_mix(offer, i, job, matrix), matrix)) for i in candidates]
    for image, verdict in verdicts:
        if verdict.possible:
            return ImageChoice(image=_pinned(image, offer), notes=verdict.notes if job.image else ())
    image, verdict = verdicts[0]
    return ImageChoice(
        image=None,
        code=RejectionCode.DRIVER_CUDA_MISMATCH,
        detail=f"{image.name}: {verdict.reason}; nearest that works: {verdict.nearest}",
    )


def architecture(offer: Offer) -> str:
    """`arm64` or `x86_64`, as the machine type's name tells it."""
    pattern = _ARM64.get(offer.cloud)
    return "arm64" if pattern and pattern.match(offer.instance_type) else "x86_64"


def option_of(job: Job, offer: Offer) -> ResourceOption:
    """The job's first option that an offer answers."""
    for option in job.options:
        wished = (option.cloud, option.region, option.zone, option.instance_type)
        actual = (offer.cloud, offer.region, offer.zone, offer.instance_type)
        if all(w is None or w == a for w, a in zip(wished, actual, strict=True)):
            return option
    return job.options[0]


def _asked_for(offer: Offer, job: Job) -> str | None:
    """The machine image that the job names for this offer; `docker:` ones are containers."""
    image_id = option_of(job, offer).image_id
    return None if image_id is None or image_id.startswith("docker:") else image_id


def _own(reference: str, offer: Offer, job: Job, matrix: Matrix) -> ImageChoice:
    if why := references.machine_floats(reference):
        return ImageChoice(image=None, code=RejectionCode.NO_IMAGE, detail=f"image_id {reference} is not exact: {why}")
    verdict = Verdict(notes=(f"nothing is known of the driver in {reference}; set `pins: {{driver: ...}}`",))
    if offer.gpu is not None and job.pins.driver:
        mix = Mix(gpu=offer.gpu, driver=job.pins.driver, container_cuda=_cuda(job, matrix), open_module=False)
        verdict = judge(mix, matrix)
        if verdict.possible and not job.image:
            verdict = Verdict()
    if not verdict.possible:
        return ImageChoice(
            image=None,
            code=RejectionCode.DRIVER_CUDA_MISMATCH,
            detail=f"{reference}: {verdict.reason}; nearest that works: {verdict.nearest}",
        )
    return ImageChoice(image=PinnedImage(id=reference, name=reference, driver=job.pins.driver), notes=verdict.notes)


def _mix(offer: Offer, image: ImagePin, job: Job, matrix: Matrix) -> Mix:
    return Mix(
        gpu=offer.gpu,
        driver=image.driver,
        image_cuda=image.cuda,
        container_cuda=_cuda(job, matrix),
        open_module=image.kernel_module == "open",
    )


def _cuda(job: Job, matrix: Matrix) -> str | None:
    """The CUDA that the job brings: what its container's name tells, else what it pins."""
    return (container_cuda(job.image, matrix) if job.image else None) or job.pins.cuda


def _pinned(image: ImagePin, offer: Offer) -> PinnedImage:
    found = image.id_in(offer.region)
    assert found is not None
    return PinnedImage(id=found, name=image.name, driver=image.driver, cuda=image.cuda)


def _has(wanted: str | None, actual: str | None) -> bool:
    """`580` and `580.126` accept 580.126.09."""
    return wanted is None or (actual is not None and f"{actual}.".startswith(f"{wanted}."))
