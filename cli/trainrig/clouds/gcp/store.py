"""Looks into Cloud Storage buckets."""

from __future__ import annotations

from google.api_core.exceptions import GoogleAPIError, NotFound
from google.auth.exceptions import DefaultCredentialsError, RefreshError
from google.cloud.storage import Client

from trainrig.clouds.base import Account
from trainrig.clouds.gcp import session
from trainrig.errors import CommandFailed, CredentialsMissing, PreflightFailed

BUCKETS = "https://storage.googleapis.com/storage/v1/b"
NEEDED = tuple(f"storage.objects.{what}" for what in ("create", "delete", "get", "list"))


def holds_data(account: Account, holder: str | None, name: str) -> bool:  # noqa: ARG001 -- bucket names are global
    try:
        client = Client(project=account.settings.get("project"))
        return any(client.list_blobs(name, versions=True, max_results=1))
    except NotFound:
        return False
    except (DefaultCredentialsError, RefreshError) as error:
        raise CredentialsMissing(f"gcp: {error}", hint="gcloud auth application-default login") from error
    except GoogleAPIError as error:
        raise CommandFailed(f"gcp: {error}", details={"cloud": "gcp"}) from error


def access(
    account: Account,
    holder: str | None,  # noqa: ARG001 -- bucket names are global
    name: str,
    *,
    region: str | None,  # noqa: ARG001 -- and are found without their region
    endpoint: str | None,  # noqa: ARG001 -- only S3 has other servers
) -> str:
    asked = "&".join(f"permissions={p}" for p in NEEDED)
    try:
        found = session.rest(account, "GET", f"{BUCKETS}/{name}/iam/testPermissions?{asked}")
    except CommandFailed as error:
        if error.details.get("code") == 404:
            raise PreflightFailed(f"there is no bucket {name}", hint="trainrig store apply") from error
        raise PreflightFailed(f"no access to the bucket {name}: {error.message}") from error
    missing = sorted(set(NEEDED) - set(found.get("permissions", [])))
    if missing:
        raise PreflightFailed(
            f"missing on {name}: {', '.join(missing)}", hint="grant roles/storage.objectAdmin on the bucket"
        )
    return "read and write"
