from __future__ import annotations

from support import rigs
from trainrig.lifecycle.image_gate import gated
from trainrig.model.job import Job, ResourceOption
from trainrig.model.placement import CatalogStamp, Placement, RejectionCode

A100, V100, B200 = (rigs.candidate(gpu=gpu, region=gpu.lower()) for gpu in ("A100", "V100", "B200"))


def placement(*candidates: object) -> Placement:
    stamp = CatalogStamp(digest="", captured_at=None, age_hours=None, offers=3)
    first, *rest = candidates
    return Placement(job="a", catalog=stamp, chosen=first, fallbacks=tuple(rest), rejections=())  # type: ignore[arg-type]


def job(image: str | None = None) -> Job:
    return Job(name="a", options=(ResourceOption(),), image=image)


def test_a_candidate_whose_driver_and_cuda_cannot_meet_is_never_tried() -> None:
    result = gated(placement(V100, B200, A100), job("pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime"))
    assert result.chosen == A100
    assert result.fallbacks == ()
    assert [(r.offer.gpu, r.code) for r in result.rejections] == [
        ("V100", RejectionCode.DRIVER_CUDA_MISMATCH),
        ("B200", RejectionCode.DRIVER_CUDA_MISMATCH),
    ]
    assert "CUDA 12.8 or newer" in result.rejections[1].detail


def test_what_all_fits_stays_as_it_is() -> None:
    before = placement(A100, B200)
    assert gated(before, job()) is before


def test_nothing_left_is_unplaceable() -> None:
    assert gated(placement(V100), job()).chosen is None


def test_this_machine_makes_its_own_image() -> None:
    local = rigs.candidate(cloud="local", region="local", gpu=None)
    assert gated(placement(local), job()).chosen == local
