"""The machine image of this cloud is made here and named by what it is made from."""

from __future__ import annotations

from trainrig.localcloud import image
from trainrig.render.request import PinnedImage


def node_image() -> PinnedImage:
    reference = image.NODE.reference(image.host_suite())
    return PinnedImage(id=reference, name=reference)
