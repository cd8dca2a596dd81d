"""Where checkpoints lie: the URL of an environment's or a job's checkpoint store, taken apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainrig.errors import EnvironmentInvalid

CLOUD_OF_SCHEME: Final[Mapping[str, str]] = {"s3": "aws", "gs": "gcp", "az": "azure"}


@dataclass(frozen=True, kw_only=True, slots=True)
class BucketPlace:
    """A prefix in a bucket. `holder` is what the bucket lies in where its name alone does not find it: Azure's storage
    account."""

    cloud: str
    holder: str | None
    bucket: str
    prefix: str  # without slashes at its ends; may be empty

    def below(self, name: str) -> str:
        return f"{self.prefix}/{name}" if self.prefix else name


def place_of(url: str) -> BucketPlace | Path:
    """`s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://ACCOUNT/CONTAINER/PREFIX`, `file:///PATH`.

    Raises:
        EnvironmentInvalid: it is none of these.
    """
    scheme, _, rest = url.partition("://")
    if scheme == "file":
        return Path(rest)
    cloud = CLOUD_OF_SCHEME.get(scheme)
    parts = [part for part in rest.split("/") if part]
    if cloud is None or not parts:
        raise EnvironmentInvalid(f"checkpoint_store {url} is no store", hint="s3://BUCKET/PREFIX, gs://..., az://...")
    if cloud != "azure":
        return BucketPlace(cloud=cloud, holder=None, bucket=parts[0], prefix="/".join(parts[1:]))
    if len(parts) < 2:
        raise EnvironmentInvalid(f"checkpoint_store {url} has no container", hint="az://ACCOUNT/CONTAINER/PREFIX")
    return BucketPlace(cloud=cloud, holder=parts[0], bucket=parts[1], prefix="/".join(parts[2:]))
