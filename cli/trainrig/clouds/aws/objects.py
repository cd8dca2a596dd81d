"""Objects of a bucket on S3, or on anything that speaks it: the job's `s3_endpoint`, or boto3's AWS_ENDPOINT_URL_S3."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from boto3.exceptions import Boto3Error
from botocore.exceptions import ClientError

from trainrig.clouds.aws.session import HOME_REGION, client, translated
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed
from trainrig.recovery.stores import Changed

_ABSENT = frozenset({"NoSuchKey", "404"})
# 409: another conditional write of the same object is under way.
_CHANGED = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412", "409"})
_DELETE_AT_ONCE = 1000


class S3Objects:
    def __init__(self, account: Account, bucket: str) -> None:
        self._account, self._bucket = account, bucket

    def read(self, key: str) -> tuple[bytes, str] | None:
        with self._asked():
            try:
                answer = self._s3.get_object(Bucket=self._bucket, Key=key)
                return answer["Body"].read(), answer["ETag"]
            except ClientError as error:
                if _code(error) in _ABSENT:
                    return None
                raise

    def write(self, key: str, content: bytes, *, expected: str | None) -> str:
        condition = {"IfNoneMatch": "*"} if expected is None else {"IfMatch": expected}
        with self._asked():
            try:
                version: str = self._s3.put_object(Bucket=self._bucket, Key=key, Body=content, **condition)["ETag"]
            except ClientError as error:
                if _code(error) in _CHANGED | _ABSENT:
                    raise Changed(key) from error
                raise
            return version

    def upload(self, key: str, path: Path) -> None:
        with self._asked():
            self._s3.upload_file(str(path), self._bucket, key)

    def download(self, key: str, path: Path) -> bool:
        with self._asked():
            try:
                self._s3.download_file(self._bucket, key, str(path))
            except ClientError as error:
                if _code(error) in _ABSENT:
                    return False
                raise
        return True

    def names(self, prefix: str) -> Iterator[str]:
        with self._asked():
            pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
            for page in pages:
                yield from (found["Key"] for found in page.get("Contents", ()))

    def delete(self, keys: Iterable[str]) -> None:
        left = [{"Key": key} for key in keys]
        while left:
            some, left = left[:_DELETE_AT_ONCE], left[_DELETE_AT_ONCE:]
            with self._asked():
                self._s3.delete_objects(Bucket=self._bucket, Delete={"Objects": some, "Quiet": True})

    @property
    def _s3(self) -> Any:  # anew each time: a role's credentials end
        region = next(iter(self._account.regions), HOME_REGION)
        return client(self._account, "s3", region, self._account.settings.get("s3_endpoint"))

    @contextmanager
    def _asked(self) -> Iterator[None]:
        with translated(self._account):
            try:
                yield
            except Boto3Error as error:  # of the transfer manager, outside of botocore's hierarchy
                raise CommandFailed(f"aws: {error}", details={"cloud": "aws"}) from error


def objects(account: Account, holder: str | None, bucket: str) -> S3Objects:  # noqa: ARG001 -- S3 names are global
    return S3Objects(account, bucket)


def _code(error: ClientError) -> str:
    return str(error.response["Error"].get("Code", ""))
