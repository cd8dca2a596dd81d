"""Objects of a container on Azure Blob Storage.

The chain of DefaultAzureCredential, or what the Azure CLI takes too: AZURE_STORAGE_CONNECTION_STRING, for a key, a
shared access signature or another endpoint.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.storage.blob import ContainerClient

from trainrig.clouds.azure.session import PATIENCE, credential, translated
from trainrig.clouds.base import Account
from trainrig.recovery.stores import Changed

CONNECTION_STRING = "AZURE_STORAGE_CONNECTION_STRING"
AT_ONCE = 4  # parts of one file
_client: Any = ContainerClient  # its types know nothing of the options of the pipeline


class BlobObjects:
    def __init__(self, account: Account, holder: str, container: str, *, connection: str | None) -> None:
        self._account, self._holder, self._name, self._connection = account, holder, container, connection

    @cached_property
    def _container(self) -> Any:
        if self._connection:
            return _client.from_connection_string(self._connection, self._name, **PATIENCE)
        chain = credential(self._account.settings.get("client_id"))
        return _client(f"https://{self._holder}.blob.core.windows.net", self._name, credential=chain, **PATIENCE)

    def read(self, key: str) -> tuple[bytes, str] | None:
        with translated():
            try:
                stream = self._container.download_blob(key)
                return stream.readall(), stream.properties.etag
            except ResourceNotFoundError:
                return None

    def write(self, key: str, content: bytes, *, expected: str | None) -> str:
        condition: dict[str, Any] = {"overwrite": False}
        if expected is not None:
            condition = {"overwrite": True, "etag": expected, "match_condition": MatchConditions.IfNotModified}
        with translated():
            try:
                client = self._container.get_blob_client(key)
                version: str = client.upload_blob(content, **condition)["etag"]
            except (ResourceExistsError, ResourceModifiedError, ResourceNotFoundError) as error:
                if getattr(error, "error_code", "") == "ContainerNotFound":
                    raise
                raise Changed(key) from error
            return version

    def upload(self, key: str, path: Path) -> None:
        with translated(), path.open("rb") as file:
            self._container.upload_blob(key, file, overwrite=True, max_concurrency=AT_ONCE)

    def download(self, key: str, path: Path) -> bool:
        with translated():
            try:
                stream = self._container.download_blob(key, max_concurrency=AT_ONCE)
            except ResourceNotFoundError:
                return False
            with path.open("wb") as file:
                stream.readinto(file)
        return True

    def names(self, prefix: str) -> Iterator[str]:
        with translated():
            yield from self._container.list_blob_names(name_starts_with=prefix)

    def delete(self, keys: Iterable[str]) -> None:
        with translated():
            for key in keys:
                try:
                    self._container.delete_blob(key)
                except ResourceNotFoundError:
                    continue


def objects(account: Account, holder: str | None, bucket: str) -> BlobObjects:
    return BlobObjects(account, holder or "", bucket, connection=os.environ.get(CONNECTION_STRING))
