"""Whether trainrig's own credentials may let a rig's service account into buckets and the repository of its image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from trainrig.clouds import checking
from trainrig.clouds.base import Account
from trainrig.clouds.gcp import session
from trainrig.clouds.gcp.image_rights import variables
from trainrig.clouds.gcp.store import BUCKETS
from trainrig.model.readiness import Check

REPOSITORIES = "https://artifactregistry.googleapis.com/v1"


def grants(account: Account, urls: Sequence[str], containers: Sequence[str]) -> Iterator[Check]:
    for bucket in sorted({url.split("/")[2] for url in urls if url.startswith("gs://")}):
        yield checking.asked(f"rights on gs://{bucket}", partial(_bucket, account, bucket))
    found = (variables(c, account.settings).get("artifact_repository") for c in containers)
    for name in sorted({"projects/{project}/locations/{location}/repositories/{name}".format(**f) for f in found if f}):
        yield checking.asked(f"rights on {name}", partial(_repository, account, name))


def _bucket(account: Account, bucket: str) -> Check:
    needed = [f"storage.buckets.{what}" for what in ("getIamPolicy", "setIamPolicy")]
    asked = "&".join(f"permissions={p}" for p in needed)
    found = session.rest(account, "GET", f"{BUCKETS}/{bucket}/iam/testPermissions?{asked}")
    return _check(f"rights on gs://{bucket}", needed, found.get("permissions", []))


def _repository(account: Account, name: str) -> Check:
    needed = [f"artifactregistry.repositories.{what}" for what in ("getIamPolicy", "setIamPolicy")]
    found = session.rest(account, "POST", f"{REPOSITORIES}/{name}:testIamPermissions", body={"permissions": needed})
    return _check(f"rights on {name}", needed, found.get("permissions", []))


def _check(name: str, needed: Sequence[str], held: Sequence[str]) -> Check:
    missing = [permission for permission in needed if permission not in held]
    if missing:
        mend = "grant them there, see docs/clouds.md#google-cloud"
        return Check(name=name, status="fail", detail=f"missing, to let nodes in: {', '.join(missing)}", mend=mend)
    return Check(name=name, status="pass", detail="nodes can be let in")
