"""Looks into S3 buckets."""

from __future__ import annotations

from botocore.exceptions import ClientError

from trainrig.clouds.aws.session import HOME_REGION, client, translated
from trainrig.clouds.base import Account


def holds_data(account: Account, holder: str | None, name: str) -> bool:  # noqa: ARG001 -- S3 names are global
    with translated(account):
        s3 = client(account, "s3", next(iter(account.regions), HOME_REGION))
        try:
            page = s3.list_object_versions(Bucket=name, MaxKeys=1)
        except ClientError as error:
            if error.response["Error"].get("Code") == "NoSuchBucket":
                return False
            raise
    return bool(page.get("Versions") or page.get("DeleteMarkers"))
