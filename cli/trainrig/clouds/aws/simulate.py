"""Asks IAM what a user or role may do, without doing it. Policies of buckets and other resources are not looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from trainrig.clouds.aws.session import client
from trainrig.clouds.base import Account


def principal(arn: str) -> str | None:
    """The user or role whose policies count: a session's role. The path of a role is not in a session's ARN."""
    session = re.fullmatch(r"arn:([\w-]+):sts::(\d+):assumed-role/([^/]+)/.+", arn)
    if session:
        return f"arn:{session[1]}:iam::{session[2]}:role/{session[3]}"
    return arn if re.fullmatch(r"arn:[\w-]+:iam::\d+:(user|role)/.+", arn) else None


def denied(account: Account, source: str, asked: Sequence[tuple[Sequence[str], str]]) -> list[str]:
    """The actions that `source`, a principal, may not do. `asked` has actions and the resource to do them on."""
    iam = client(account, "iam")
    if ":role/" in source:
        source = iam.get_role(RoleName=source.rpartition("/")[2])["Role"]["Arn"]
    return [name for names, resource in asked for name in _denied(iam, source, names, resource)]


def _denied(iam: Any, source: str, names: Sequence[str], resource: str) -> Iterator[str]:
    pages = iam.get_paginator("simulate_principal_policy").paginate(
        PolicySourceArn=source, ActionNames=list(names), ResourceArns=[resource]
    )
    for result in (r for page in pages for r in page["EvaluationResults"]):
        if result["EvalDecision"] != "allowed":
            yield result["EvalActionName"]
