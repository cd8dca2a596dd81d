"""Looks into Cloud Storage buckets."""

from __future__ import annotations

from google.api_core.exceptions import GoogleAPIError, NotFound
from google.auth.exceptions import DefaultCredentialsError, RefreshError
from google.cloud.storage import Client

from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed, CredentialsMissing


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
