"""Looks into S3 buckets."""

from __future__ import annotations

from botocore.exceptions import ClientError

from trainrig.clouds.aws.session import HOME_REGION, client, translated
from trainrig.clouds.aws.simulate import denied, principal
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed, PreflightFailed

WRITE = ("s3:PutObject", "s3:GetObject", "s3:DeleteObject")


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


def access(
    account: Account,
    holder: str | None,  # noqa: ARG001 -- S3 names are global
    name: str,
    *,
    region: str | None,
    endpoint: str | None,
) -> str:
    s3 = client(account, "s3", region or next(iter(account.regions), HOME_REGION), endpoint)
    try:
        with translated(account):
            s3.head_bucket(Bucket=name)
            s3.list_objects_v2(Bucket=name, MaxKeys=1)
    except CommandFailed as error:
        raise _refused(error, name) from error
    missing = None if endpoint else _missing(account, name)
    if missing:
        raise PreflightFailed(
            f"missing on {name}/*: {', '.join(missing)}", hint="attach the policy of docs/clouds.md#aws"
        )
    return "read and write" if missing is not None else "readable; whether it can be written was not asked"


def _missing(account: Account, name: str) -> list[str] | None:
    """The rights on objects that are missing; None where nobody may ask."""
    try:
        with translated(account):
            source = principal(client(account, "sts").get_caller_identity()["Arn"])
            if source is None:
                return None
            return denied(account, source, [(WRITE, f"arn:{source.split(':')[1]}:s3:::{name}/*")])
    except CommandFailed:
        return None


def _refused(error: CommandFailed, name: str) -> PreflightFailed:
    code = str(error.details.get("code"))
    if code in {"404", "NoSuchBucket"}:
        return PreflightFailed(f"there is no bucket {name}", hint="trainrig store apply")
    if code in {"403", "AccessDenied"}:
        return PreflightFailed(f"no access to the bucket {name}", hint="allow s3:ListBucket to these credentials")
    return PreflightFailed(error.message)
