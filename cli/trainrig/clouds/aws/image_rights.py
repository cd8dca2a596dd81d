"""What lets a node pull its image from ECR."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from trainrig.render.references import split

_ECR = re.compile(r"(\d{12})\.dkr\.ecr(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/(.+)")
_PARTITIONS = {"us-gov-": "aws-us-gov", "cn-": "aws-cn"}  # by how a region begins


def variables(container: str, account: Mapping[str, str]) -> dict[str, Any]:  # noqa: ARG001 -- any account's repository
    """A node's role may be given a right on a repository of another account too; that one's own policy then decides."""
    found = _ECR.fullmatch(split(container)[0])
    if not found:
        return {}
    number, region, name = found.groups()
    partition = next((p for begin, p in _PARTITIONS.items() if region.startswith(begin)), "aws")
    return {"ecr_repository_arn": f"arn:{partition}:ecr:{region}:{number}:repository/{name}"}


def lacking(container: str, account: Mapping[str, str]) -> str:  # noqa: ARG001 -- no environment can keep it from it
    return ""
