"""What an IAM policy lets somebody do with S3, call by call: the part of IAM that the rig module uses. What it does not
know (a Deny, a condition other than s3:prefix) it refuses to judge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from urllib.parse import parse_qs, unquote, urlsplit

from support.gateway import Allows

_ON_OBJECTS = {
    "GET": "s3:GetObject",
    "HEAD": "s3:GetObject",
    "PUT": "s3:PutObject",
    "POST": "s3:PutObject",
    "DELETE": "s3:DeleteObject",
}


def allows(policy: str) -> Allows:
    """For the gateway."""
    statements = json.loads(policy)["Statement"]
    for one in statements:
        assert one["Effect"] == "Allow"
        assert one.get("Condition", {"StringLike": {"s3:prefix": []}}).keys() == {"StringLike"}

    def may(action: str, resource: str, prefix: str | None = None) -> bool:
        return any(
            action in one["Action"]
            and any(fnmatchcase(f"arn:aws:s3:::{resource}", pattern) for pattern in one["Resource"])
            and ("Condition" not in one or _listed(prefix, one["Condition"]["StringLike"]["s3:prefix"]))
            for one in statements
        )

    def allowed(command: str, target: str, headers: Mapping[str, str]) -> bool:
        split = urlsplit(target)
        bucket, _, key = unquote(split.path).lstrip("/").partition("/")
        if not key:
            prefix = parse_qs(split.query).get("prefix", [""])[0]
            return command == "GET" and may("s3:ListBucket", bucket, prefix)
        source = {name.lower(): value for name, value in headers.items()}.get("x-amz-copy-source")
        readable = source is None or may("s3:GetObject", unquote(source).lstrip("/"))
        return readable and may(_ON_OBJECTS[command], f"{bucket}/{key}")

    return allowed


def _listed(prefix: str | None, patterns: list[str]) -> bool:
    return prefix is not None and any(fnmatchcase(prefix, pattern) for pattern in patterns)
