"""Objects of a bucket on Cloud Storage."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from google.api_core.exceptions import NotFound, PreconditionFailed
from google.cloud.storage import Client

from trainrig.clouds.base import Account
from trainrig.clouds.gcp.session import TIMEOUT_SECONDS, credentials, translated
from trainrig.recovery.stores import Changed

EMULATOR = "STORAGE_EMULATOR_HOST"  # the library's own; it then asks for no credentials
TRANSFER_SECONDS = 600  # without an answer to one part of a file
_READS = 5


class GcsObjects:
    def __init__(self, account: Account, bucket: str, *, anonymous: bool) -> None:
        self._account, self._name, self._anonymous = account, bucket, anonymous

    @cached_property
    def _bucket(self) -> Any:
        if self._anonymous:
            return Client(project=self._account.settings.get("project", "none")).bucket(self._name)
        found, project = credentials(self._account)
        return Client(project=project, credentials=found).bucket(self._name)

    def read(self, key: str) -> tuple[bytes, str] | None:
        with translated():
            for _ in range(_READS):  # an object that is replaced between the two calls is read again
                blob = self._bucket.get_blob(key, timeout=TIMEOUT_SECONDS)
                if blob is None:
                    return None
                try:
                    content = blob.download_as_bytes(if_generation_match=blob.generation, timeout=TIMEOUT_SECONDS)
                except (NotFound, PreconditionFailed):
                    continue
                return content, str(blob.generation)
        raise Changed(key)

    def write(self, key: str, content: bytes, *, expected: str | None) -> str:
        blob = self._bucket.blob(key)
        with translated():
            try:
                blob.upload_from_string(
                    content, if_generation_match=0 if expected is None else int(expected), timeout=TIMEOUT_SECONDS
                )
            except (NotFound, PreconditionFailed) as error:
                raise Changed(key) from error
        return str(blob.generation)

    def upload(self, key: str, path: Path) -> None:
        with translated():
            self._bucket.blob(key).upload_from_filename(str(path), timeout=TRANSFER_SECONDS)

    def download(self, key: str, path: Path) -> bool:
        with translated():
            try:
                self._bucket.blob(key).download_to_filename(str(path), timeout=TRANSFER_SECONDS)
            except NotFound:
                path.unlink(missing_ok=True)
                return False
        return True

    def names(self, prefix: str) -> Iterator[str]:
        with translated():
            for blob in self._bucket.list_blobs(prefix=prefix, timeout=TIMEOUT_SECONDS):
                yield blob.name

    def delete(self, keys: Iterable[str]) -> None:
        with translated():
            for key in keys:
                try:
                    self._bucket.blob(key).delete(timeout=TIMEOUT_SECONDS)
                except NotFound:
                    continue


def objects(account: Account, holder: str | None, bucket: str) -> GcsObjects:  # noqa: ARG001 -- names are global
    return GcsObjects(account, bucket, anonymous=EMULATOR in os.environ)
