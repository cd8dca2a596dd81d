"""What an image reference fixes and what it leaves to the day."""

from __future__ import annotations

import re

# What moves on every cloud: a newest version, a family, a parameter that AWS rewrites, a wildcard.
_FLOATING_MACHINE = (
    (re.compile(r"(^|[:/@-])latest$", re.IGNORECASE), "`latest` moves"),
    (re.compile(r"[*?]"), "a wildcard moves"),
    (re.compile(r"(^|/)famil(y|ies)/"), "an image family moves"),
    (re.compile(r"^resolve:ssm:|/aws/service/"), "an SSM parameter moves"),
)


def split(reference: str) -> tuple[str, str | None, str | None]:
    """`registry:5000/name:tag@sha256:...` -> name, tag, digest."""
    rest, _, digest = reference.partition("@")
    head, colon, tag = rest.rpartition(":")
    if not colon or "/" in tag:
        return rest, None, digest or None
    return head, tag, digest or None


def machine_floats(reference: str) -> str | None:
    """Why a machine image is not exact, or None."""
    return next((why for pattern, why in _FLOATING_MACHINE if pattern.search(reference)), None)


def container_floats(reference: str) -> str | None:
    """Why a container is not exact, or None. A tag that names a version counts as exact enough to read and too loose
    to trust: see `container_loose`."""
    if re.fullmatch(r"sha256:[0-9a-f]{64}", reference):
        return None
    _, tag, digest = split(reference)
    if digest:
        return None if re.fullmatch(r"sha256:[0-9a-f]{64}", digest) else f"{digest} is no sha256 digest"
    if tag is None:
        return "without a tag it means `latest`, which moves"
    if re.search(r"(^|[._-])(latest|nightly|edge|dev|main|master|stable)$", tag, re.IGNORECASE):
        return f"the tag `{tag}` moves"
    return None


def is_recipe(reference: str) -> bool:
    """Whether it is the path of a Dockerfile, where a container is wanted."""
    return reference.startswith(("./", "../", "/", "~")) or reference.rpartition("/")[2] == "Dockerfile"


def container_loose(reference: str) -> bool:
    """Whether only a tag holds it, which its publisher can move."""
    return not reference.startswith("sha256:") and split(reference)[2] is None


def with_digest(reference: str, digest: str) -> str:
    """`name:tag` and `sha256:...` as one exact reference, the tag kept for people; `local:sha256:...` is the id of an
    image that only this machine has, and a reference by itself."""
    if digest.startswith("local:"):
        return digest.removeprefix("local:")
    name, tag, _ = split(reference)
    return f"{name}:{tag}@{digest}" if tag else f"{name}@{digest}"
